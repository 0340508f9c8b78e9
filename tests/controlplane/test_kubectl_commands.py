"""The real kubectl prints the same against a sandbox and a real server.

The commands are those of `kubectl-commands.yaml`, and on public manifests those of `kubectl-manifests.yaml`.
"""

import os
import re
import shutil
import subprocess
import threading
from datetime import UTC, datetime
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from applyviz.sandbox.api.http import HttpFace
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.test_sandbox_kubectl import make_handler
from tests.yaml_files import read_yaml

COMMANDS: list[str] = read_yaml(Path(__file__).with_name("kubectl-commands.yaml"))
ON_MANIFESTS: list[str] = read_yaml(Path(__file__).with_name("kubectl-manifests.yaml"))
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "shop/web:1"}]}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {k: '1'}\n"
BINDING = """- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: NAME}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subjects: [{kind: ServiceAccount, name: web, namespace: cmp}]
"""
BINDINGS = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBindingList\nitems:\n" + BINDING
SERVICE = """- apiVersion: v1
  kind: Service
  metadata: {name: listed}
  spec: {selector: {app: web}, ports: [{port: 80, targetPort: "8080"}]}
"""
WIDGETS = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: full, annotations: {example.com/a: dotted}}
spec: {size: 3, ratio: 1.5, on: true, parts: [{name: a}, {name: b}, {name: c}], since: nonsense}
status: {conditions: [{type: Other, status: "False"}, {type: Ready, status: "True", reason: Fine}]}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: other-types}
spec: {size: text, ratio: "1", on: "yes", parts: {}, since: "2020-01-01T00:00:00Z"}
"""
LIST = "apiVersion: v1\nkind: List\nitems:\n" + SERVICE + BINDING
MADE_UP = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "UID"),
    (r"\d{4}-\d\d-\d\d[T ][\d:.]+( [+-]\d+|Z)?", "TIME"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} [+-]\d{4}", "TIME"),
    (r'resourceVersion: "\d+"', "VERSION"),
    (r"/tmp/\S*?(LIVE|MERGED)-\d+", r"\1"),
    (r"kubectl-edit-\d+", "EDITED"),
    (r"https?://\S*?127[^/\s\"]*", "HOST"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r":3\d{4}/", ":PORT/"),
    (r"nodePort: 3\d{4}", "nodePort: PORT"),
    (r"\b(\d+[smhdy]){1,2}\b", "AGE"),
    (r"(?<=\S) {2,}", "  "),
)


def write_files(folder: Path) -> None:
    (folder / "set").mkdir()
    (folder / "web.yaml").write_text(WEB)
    (folder / "tables.yaml").write_text(Path(__file__).with_name("kubectl-tables.yaml").read_text())
    (folder / "widgets.yaml").write_text(WIDGETS)
    warned = Path(__file__).with_name("kubectl-warnings.yaml").read_text()
    (folder / "warned.yaml").write_text(warned)
    (folder / "warned-again.yaml").write_text(re.sub(r"image: i\b", "image: j", warned))
    (folder / "short.yaml").write_text(warned[warned.index("apiVersion: apps/v1\nkind: DaemonSet") :])
    (folder / "web2.yaml").write_text(WEB.replace("web:1", "web:2"))
    (folder / "list.yaml").write_text(LIST.replace("NAME", "listed"))
    (folder / "bindings.yaml").write_text(BINDINGS.replace("NAME", "bound"))
    (folder / "bad-list.yaml").write_text(LIST.replace("{port: 80", "{prot: 80").replace("roleRef:", "roleref:"))
    (folder / "bad-bindings.yaml").write_text(BINDINGS.replace("kind: ServiceAccount, ", "kind: [], nmae: x, "))
    (folder / "kindless-list.yaml").write_text("apiVersion: v1\nkind: List\nitems: [{metadata: {name: a}}]\n")
    for name in ("a", "b"):
        (folder / "set" / f"{name}.yaml").write_text(MAP.replace("NAME", name))


def set_aside(text: str) -> str:
    """Return an output without times and without values that a server makes up."""
    for pattern, word in MADE_UP:
        text = re.sub(pattern, word, text)
    return text


def run_command(command: str, kubectl: Path, config: Path, work: Path) -> str:
    """The exit code and what was printed, without what a server makes up."""
    full = command.replace("kubectl ", f"{kubectl} --cache-dir={config}.cache ")
    environment = {"PATH": os.environ["PATH"], "HOME": str(config.parent), "KUBECONFIG": str(config)}
    done = subprocess.run(["bash", "-c", full], cwd=work, env=environment, capture_output=True, text=True, timeout=120)
    # kubectl logs where its watch was when time ran out, on a busy machine more often: that is no answer of a server.
    complaints = "".join(line for line in done.stderr.splitlines(keepends=True) if "reflector.go" not in line)
    return set_aside(f"{done.returncode}\n{done.stdout}\n{complaints}")


@pytest.fixture
def box_config(tmp_path: Path):
    def now() -> datetime:
        return datetime.now(UTC)

    face = HttpFace(Sandbox(MemoryStore(), now, has_controllers=False), {"token": "alice"}.get, now)
    server = ThreadingHTTPServer(("127.0.0.1", 0), make_handler(face))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = tmp_path / "box"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        f"clusters: [{{name: c, cluster: {{server: 'http://x:token@127.0.0.1:{server.server_port}'}}}}]\n"
        "contexts: [{name: x, context: {cluster: c}}]\n"
    )
    yield config
    server.shutdown()
    server.server_close()


def list_differences(
    commands: list[str], plane: ControlPlane, box_config: Path, work: Path
) -> list[tuple[str, str, str]]:
    """Each command that prints something else against a sandbox, with what it prints against both."""
    kubectl = plane.binaries.kubectl
    sides = (plane.kubeconfig, box_config)
    printed = [(command, *(run_command(command, kubectl, side, work) for side in sides)) for command in commands]
    return [(command, theirs, ours) for command, theirs, ours in printed if theirs != ours]


@pytest.mark.controlplane
@pytest.mark.long
def test_kubectl_prints_the_same_against_both(own_plane, box_config, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    write_files(work)

    assert list_differences(COMMANDS, own_plane, box_config, work) == []
    assert "AlreadyExists" in run_command(COMMANDS[0], own_plane.binaries.kubectl, box_config, work)


@pytest.mark.controlplane
@pytest.mark.long
def test_kubectl_prints_the_same_of_public_manifests(own_plane, box_config, tmp_path, public_manifests):
    work = tmp_path / "work"
    (work / "kustomized").mkdir(parents=True)
    (work / "public").symlink_to(public_manifests)
    shutil.copy(public_manifests / "online-boutique" / "v0.8.0.yaml", work / "kustomized" / "all.yaml")
    kustomization = {"namespace": "shop", "namePrefix": "x-", "resources": ["all.yaml"]}
    (work / "kustomized" / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    assert list_differences(ON_MANIFESTS, own_plane, box_config, work) == []


@pytest.mark.parametrize(
    ("of_one", "of_other"),
    [
        ("CreationTimestamp:  Mon, 30 Nov 2026 23:59:59 +0000", "CreationTimestamp:  Tue, 01 Dec 2026 00:00:00 +0000"),
        ('creationTimestamp: "2026-11-30T14:59:59Z"', 'creationTimestamp: "2026-11-30T15:00:00Z"'),
        ("web    0/2     0            0           9s", "web    0/2     0            0           1m10s"),
    ],
)
def test_comparison_sets_times_aside(of_one, of_other):
    assert set_aside(of_one) == set_aside(of_other)
