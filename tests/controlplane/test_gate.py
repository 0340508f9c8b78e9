"""A pipeline with a Job on a real API server with controllers: `scripts/gate.py` ends with 0 when it is verified."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.controlplane.controlplane import ControlPlane
from tests.start.gating import Gate, Installation
from tests.start.test_gate import JOB, SHOWN

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before}\ndata: {a: '1'}\n"
ADDED = """clusters.prepare_upload(slug="real", name="Real", kubeconfig=open({path!r}, "rb").read(), context="test", \
by=User.objects.create_superuser("root"))()"""


@pytest.fixture(scope="module")
def plane(managed_plane: ControlPlane) -> ControlPlane:
    """A control plane with the real controllers: they label the pods of a Job with its uid."""
    return managed_plane


@pytest.fixture(scope="module")
def installation(tmp_path_factory, plane) -> Iterator[Installation]:
    found = Installation(tmp_path_factory.mktemp("home"))
    found.start()
    found.open_hands()
    try:
        found.do(ADDED.format(path=str(plane.kubeconfig)))
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("mode", ["server", "client"])
def test_job_in_the_set_is_applied_and_verified(installation, plane, tmp_path, mode):
    namespace = f"gate-{mode}"
    plane.kubectl("create", "namespace", namespace)
    files = {"job.yaml": JOB.replace("namespace: default", f"namespace: {namespace}"), "config.yaml": CONFIG}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    token = installation.do("token()")
    options = ("--cluster", "real", "--namespace", namespace, "--mode", mode)
    gate = Gate(installation, token, *options, str(tmp_path))
    number = gate.wait_for(SHOWN)

    installation.do(f"approve({number})")

    status, said = gate.end()
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert status == 0, said
    assert {"applied ConfigMap before", "applied Job migrate"} <= lines, said
    live = json.loads(plane.kubectl("get", "job", "migrate", "-n", namespace, "-o", "json").stdout)
    assert "batch.kubernetes.io/controller-uid" in live["spec"]["template"]["metadata"]["labels"]
    again = Gate(installation, token, *options, str(tmp_path))
    assert (again.end()[0], "nothing to apply" in again.said) == (0, True), again.said
