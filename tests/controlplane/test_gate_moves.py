"""Patches and ownership moves of a pipeline on a real API server: `scripts/gate.py --patches` and `--moves`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.test_gate import ADDED
from tests.start.gating import Gate, Installation
from tests.start.test_gate import SHOWN

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
SPACE = "moves"
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1"}]}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"
# Ben opens and acknowledges every high risk before he approves.
ACKNOWLEDGED = "__import__('tests.builders').builders.open_dangers(plan({number}), people['ben'])"


class Pipeline:
    """A pipeline with its files, whose plans a person acknowledges and approves."""

    def __init__(self, installation: Installation, plane: ControlPlane, folder: Path) -> None:
        self.installation, self.plane, self.folder = installation, plane, folder
        self.token = installation.do("token()")

    def gate(self, *texts: str, **lists: list[dict[str, Any]]) -> Gate:
        words = []
        for number, text in enumerate(texts):
            (self.folder / f"{number}.yaml").write_text(text)
            words.append(str(self.folder / f"{number}.yaml"))
        for name, entries in lists.items():
            (self.folder / f"{name}.json").write_text(json.dumps(entries))
            words += [f"--{name}", str(self.folder / f"{name}.json")]
        return Gate(self.installation, self.token, "--cluster", "real", "--namespace", SPACE, *words)

    def accept(self, number: int) -> None:
        """Have the plan of a review acknowledged and approved."""
        self.installation.do(ACKNOWLEDGED.format(number=number))
        self.installation.do(f"approve({number})")

    def apply(self, *texts: str, **lists: list[dict[str, Any]]) -> str:
        """Plan, approve and apply, and return what the gate prints then."""
        gate = self.gate(*texts, **lists)
        self.accept(gate.wait_for(SHOWN))
        status, said = gate.end()
        assert status == 0, said
        return said

    def read(self, name: str) -> dict[str, Any]:
        words = ("get", name, "-n", SPACE, "--show-managed-fields", "-o", "json")
        found: dict[str, Any] = json.loads(self.plane.kubectl(*words).stdout)
        return found

    def owners(self, name: str) -> set[tuple[str, str]]:
        """The managers of an object and how they write it, without those of its status."""
        entries = self.read(name)["metadata"].get("managedFields", [])
        return {(one["manager"], one["operation"]) for one in entries if not one.get("subresource")}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory, managed_plane: ControlPlane) -> Iterator[Pipeline]:
    found = Installation(tmp_path_factory.mktemp("home"))
    found.start()
    found.open_hands()
    try:
        found.do(ADDED.format(path=str(managed_plane.kubeconfig)))
        managed_plane.kubectl("create", "namespace", SPACE)
        yield Pipeline(found, managed_plane, tmp_path_factory.mktemp("files"))
    finally:
        found.close()


def test_pipeline_patches_hands_over_takes_and_moves_records(pipeline):
    pipeline.apply(WEB, CONFIG)

    handed = {"what": "hand-over", "target": f"Deployment/{SPACE}/web", "fields": [".spec.replicas"]}
    said = pipeline.apply(WEB, CONFIG, moves=[handed])
    assert "Handed over to handover-to-hpa: Deployment/web .spec.replicas" in said
    assert pipeline.read("deployment/web")["spec"]["replicas"] == 3
    assert ("handover-to-hpa", "Apply") in pipeline.owners("deployment/web")

    scale = {
        "type": "merge",
        "target": f"Deployment/{SPACE}/web",
        "subresource": "scale",
        "patch": "spec: {replicas: 5}",
    }
    pipeline.apply(patches=[scale, {"target": f"ConfigMap/{SPACE}/settings", "patch": {"data": {"b": "2"}}}])
    assert pipeline.read("deployment/web")["spec"]["replicas"] == 5
    assert pipeline.read("configmap/settings")["data"] == {"a": "1", "b": "2"}

    edited = WEB.replace("  replicas: 3\n", "")
    pipeline.plane.kubectl("set", "image", "deployment/web", "main=nginx:2", "-n", SPACE)
    taken = {
        "what": "take",
        "target": f"Deployment/{SPACE}/web",
        "fields": ['.spec.template.spec.containers[name="main"].image'],
    }
    pipeline.apply(edited, CONFIG, moves=[taken])
    assert pipeline.read("deployment/web")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"
    assert ("kubectl-set", "Update") not in pipeline.owners("deployment/web")

    pipeline.plane.kubectl("create", "configmap", "other", "--from-literal=z=1", "-n", SPACE)
    for name in ("settings", "other"):
        pipeline.plane.kubectl("label", "configmap", name, "-n", SPACE, "by=hand")
    both = CONFIG + "---\n" + CONFIG.replace("settings", "other")
    server = {"what": "to-server-side", "target": f"ConfigMap/{SPACE}/settings", "managers": ["kubectl-label"]}
    pipeline.apply(both, moves=[server])
    assert ("kubectl-label", "Update") not in pipeline.owners("configmap/settings")
    assert ("kubectl-label", "Update") in pipeline.owners("configmap/other")

    pipeline.apply(CONFIG, moves=[{"what": "set-last-applied"}])
    annotations = pipeline.read("configmap/settings")["metadata"]["annotations"]
    assert json.loads(annotations["kubectl.kubernetes.io/last-applied-configuration"])["data"] == {"a": "1"}

    gate = pipeline.gate(moves=[{"what": "clear-managed-fields", "target": f"ConfigMap/{SPACE}/settings"}])
    number = gate.wait_for(SHOWN)
    pipeline.accept(number)
    gate.wait_for("a person must start it in the browser")  # it is a high risk
    gate.process.kill()
    assert "Field ownership of applyviz is lost permanently." in gate.end()[1]


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"moves": [{"what": "hand-over", "target": "Deployment/moves/none", "fields": [".spec"]}]}, "moves[0].target"),
        ({"moves": [{"what": "hand-over", "target": "ConfigMap/moves/settings", "fields": [".x"]}]}, "moves[0].fields"),
        ({"moves": [{"what": "give-away"}]}, "moves[0].what"),
        ({"moves": [{"what": "clear-managed-fields"}]}, "moves[0].target"),
        ({"patches": [{"target": "settings", "patch": "a: 1"}]}, "patches[0].target"),
        ({"patches": [{"target": "ConfigMap/moves/settings", "type": "smp", "patch": "a: 1"}]}, "patches[0].type"),
        ({"patches": [{"target": "ConfigMap/moves/settings"}]}, "patches[0].patch"),
    ],
)
def test_gate_says_which_entry_is_wrong_and_where(pipeline, lists, said):
    texts = [CONFIG] if "hand-over" in str(lists) else []

    status, printed = pipeline.gate(*texts, **lists).end()

    assert status != 0
    assert said in printed, printed


def test_patch_of_an_object_that_is_not_there_ends_with_the_reason(pipeline):
    gate = pipeline.gate(patches=[{"target": f"ConfigMap/{SPACE}/none", "patch": {"data": {"a": "1"}}}])

    status, printed = gate.end()

    assert status != 0
    assert "not found" in printed, printed
