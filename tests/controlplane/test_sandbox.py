"""The sandbox beside the real thing: kubectl applies the same files to both and leaves the same objects behind."""

import subprocess
from pathlib import Path

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Role
from applyviz.workflow.clusters import registration, sandboxes
from tests.controlplane.binaries import Binaries
from tests.controlplane.comparison import compare
from tests.controlplane.controlplane import run_kubectl
from tests.controlplane.kubectl_side import run_with_kubectl
from tests.controlplane.product import make_person
from tests.controlplane.stories import tell_shop

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db(transaction=True), pytest.mark.long]

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"


class SandboxServer:
    """A sandbox that pages serve, as kubectl sees it."""

    def __init__(self, binaries: Binaries, kubeconfig: Path) -> None:
        self._program, self._kubeconfig = binaries.kubectl, kubeconfig

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        return run_kubectl(self._program, self._kubeconfig, *arguments, stdin=stdin, check=check)


@pytest.fixture
def sandbox(binaries, live_server, tmp_path) -> SandboxServer:
    registration.create_sandbox(slug="box", name="Box")
    found = sandboxes.find_sandbox("box")
    assert found is not None
    kubeconfig = tmp_path / "kubeconfig"
    text = sandboxes.make_kubeconfig(found, address=live_server.url, for_user=make_person("bob", Role.APPROVER))
    kubeconfig.write_text(text)
    return SandboxServer(binaries, kubeconfig)


def test_kubectl_looks_at_the_sandbox(sandbox):
    sandbox.kubectl("apply", "-f", "-", stdin=CONFIG_MAP)

    assert sandbox.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data}").stdout == '{"a":"1"}'
    assert sandbox.kubectl("get", "configmaps").stdout.split()[:3] == ["NAME", "DATA", "AGE"]


@pytest.mark.parametrize("mode", ApplyMode)
def test_kubectl_leaves_the_shop_in_the_sandbox_as_on_the_real_server(sandbox, control_plane, mode):
    theirs = run_with_kubectl(control_plane, tell_shop(f"real-{mode}"), mode)

    ours = run_with_kubectl(sandbox, tell_shop(f"box-{mode}"), mode)

    assert [compare(*pair) for pair in zip(ours, theirs, strict=True)] == [[], []]
