"""This machine's own kubeconfig: what would make the client ask with other rights than kubectl is refused."""

import pytest
import yaml

from applyviz.clusters import live
from applyviz.engine.objects.errors import ClusterError


def write(tmp_path, **user):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "plain",
        "contexts": [
            {"name": "plain", "context": {"cluster": "c", "user": "plain"}},
            {"name": "other", "context": {"cluster": "c", "user": "other"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "plain", "user": {"token": "t"}}, {"name": "other", "user": {"token": "t", **user}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.mark.parametrize(
    "user", [{"as": "root"}, {"as-groups": ["system:masters"]}, {"as-uid": "7"}, {"as-user-extra": {"a": ["b"]}}]
)
def test_impersonation_is_refused_not_left_out(tmp_path, user):
    path = write(tmp_path, **user)

    with pytest.raises(ClusterError, match=f"impersonates .`{next(iter(user))}`"):
        live.from_own_context("other", path=path)


def test_context_that_does_not_impersonate_is_taken(tmp_path):
    path = write(tmp_path, **{"as": "root"})

    for context in ("", "plain"):
        transport = live.from_own_context(context, path=path)
        assert transport.server == "https://127.0.0.1:1"
        transport.close()
