"""The control plane itself: real, of the version we speak of, and told apart when it differs."""

import json

import pytest

from applyviz.engine.requests.options import ApplyMode
from tests.controlplane.binaries import KUBERNETES_VERSION
from tests.controlplane.comparison import compare, make_comparable, read_objects
from tests.controlplane.kubectl_side import run_with_kubectl
from tests.controlplane.stories import tell_shop

pytestmark = pytest.mark.controlplane


def test_server_tells_the_version_that_was_built(control_plane):
    versions = json.loads(control_plane.kubectl("version", "-o", "json").stdout)

    if control_plane.binaries.controller_manager is None:
        pytest.skip("KUBEBUILDER_ASSETS decides the version")
    assert versions["serverVersion"]["gitVersion"] == f"v{KUBERNETES_VERSION}"
    assert versions["clientVersion"]["gitVersion"] == f"v{KUBERNETES_VERSION}"


def test_server_knows_people_by_their_tokens(control_plane, tmp_path):
    config = tmp_path / "alice"
    config.write_text(control_plane.render_kubeconfig("alice-token"))

    answer = control_plane.kubectl("auth", "whoami", "-o", "json", f"--kubeconfig={config}")

    assert json.loads(answer.stdout)["status"]["userInfo"]["username"] == "alice"


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_kubectl_applies_the_shop_alike_in_two_namespaces(control_plane, mode):
    left, right = (run_with_kubectl(control_plane, tell_shop(f"{mode}-{side}"), mode) for side in ("left", "right"))

    assert [len(objects) for objects in left] == [48, 50]
    assert [compare(*pair) for pair in zip(left, right, strict=True)] == [[], []]


def test_comparison_sees_what_somebody_else_changed(control_plane):
    story = tell_shop("seen")
    before = run_with_kubectl(control_plane, story, ApplyMode.SERVER)[1]
    control_plane.kubectl("label", "-n", story.namespace, "service/cart", "seen=yes")

    after = make_comparable(read_objects(control_plane, story.second, story.namespace), story.renamed)

    assert [line.split(":")[0] for line in compare(after, before) if "managedFields" not in line] == [
        "Service cart .metadata.labels.seen"
    ]
