"""The playground's prunes and deletions, done by the real kubectl on a real control plane with its controllers."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from applyviz.guide.given_sets import FILE, SetQuery
from applyviz.guide.whole_sets import explain_set
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.guide.set_cases import CASES, SetCase

pytestmark = pytest.mark.controlplane
SECONDS = 60
_LINE = re.compile(
    r"^(?P<kind>[a-z]+)(?:\.[a-z.-]+)?/(?P<name>\S+) (?P<verb>created|configured|unchanged|pruned)$", re.M
)
_VERBS = {"created": "created", "configured": "updated", "unchanged": "unchanged"}
_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class Named:
    """One object of a case: how kubectl names it."""

    kind: str
    name: str
    namespace: str
    group: str

    @classmethod
    def of(cls, obj: Mapping[str, Any], default: str) -> Named:
        """Name an object."""
        group = obj["apiVersion"].rpartition("/")[0]
        return cls(obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace") or default, group)

    @property
    def label(self) -> str:
        """Its name in a case."""
        return f"{self.kind}/{self.name}"

    def read(self, plane: ControlPlane) -> Mapping[str, Any] | None:
        """Return the object, None if it is gone or its kind is."""
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        done = plane.kubectl("get", kind, self.name, "-n", self.namespace, "-o", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None


class Side:
    """A case on the control plane."""

    def __init__(self, plane: ControlPlane, case: SetCase, space: str) -> None:
        self.plane, self.case, self.given = plane, case, case.ask(space)
        self.space = space
        self.before: dict[str, Mapping[str, Any]] = {}

    def fill(self) -> None:
        """Make the cluster: what was applied before, then its other objects, whose owners get their real uids."""
        for namespace in (self.space, f"{self.space}-2"):
            self.plane.kubectl("create", "namespace", namespace)
        if self.given.before:
            self.run(self.given, self.given.before, is_before=True)
        uids: dict[str, str] = {}
        for text in filter(None, self.given.cluster.split("---\n")):
            for placeholder, uid in uids.items():
                text = text.replace(placeholder, uid)
            self._create(text, uids)
        for named in self.list_objects():
            found = named.read(self.plane)
            if found is not None:
                self.before[named.label] = found

    def _create(self, text: str, uids: dict[str, str]) -> None:
        obj = yaml.safe_load(text)
        if obj["kind"] == "Namespace":
            return
        done = self.plane.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(obj))
        if obj["metadata"].get("uid"):
            uids[obj["metadata"]["uid"]] = json.loads(done.stdout)["metadata"]["uid"]
        if obj["kind"] == "CustomResourceDefinition":
            self.plane.kubectl("wait", "--for=condition=Established", f"crd/{obj['metadata']['name']}")

    def run(self, given: SetQuery, text: str, *, is_before: bool = False) -> str:
        """Carry out the very command of the page; return what it prints."""
        words = [word for word in shlex.split(given.command) if not word.startswith("KUBECTL_")][1:]
        if is_before and given.is_deletion:
            words = ["apply", "-f", FILE]
        words = ["-" if word == FILE else word for word in words]
        words += ["--wait=false"] if words[0] == "delete" else []
        kubectl, config = self.plane.binaries.kubectl, self.plane.kubeconfig
        is_bad = "refused" in self.case.expect.values() and not is_before
        done = run_kubectl(kubectl, config, *words, stdin=text, check=not is_bad, has_applysets=True)
        return done.stdout

    def list_objects(self) -> Iterator[Named]:
        """Yield every object that the case names, the parent of an ApplySet too."""
        texts = (self.given.manifest, self.given.before, self.given.cluster)
        found = {Named.of(one, self.space).label: Named.of(one, self.space)
                 for text in texts for one in yaml.safe_load_all(text) if one}  # fmt: skip
        if self.given.applyset:
            kind = {"secrets": "Secret", "configmaps": "ConfigMap"}[self.given.applyset.partition("/")[0]]
            parent = Named(kind, self.given.applyset.partition("/")[2], self.space, "")
            found[parent.label] = parent
        yield from found.values()

    def judge(self, printed: str) -> dict[str, str]:
        """Return what became of each object, in the words of the cases."""
        lines = {(one["kind"], one["name"]): one["verb"] for one in _LINE.finditer(printed)}
        return {named.label: self._judge_one(named, lines) for named in self.list_objects()}

    def _judge_one(self, named: Named, lines: Mapping[tuple[str, str], str]) -> str:
        now, before = named.read(self.plane), self.before.get(named.label)
        verb = lines.get((named.kind.lower(), named.name), "")
        if now is None:
            return self._judge_gone(named, verb, existed=before is not None)
        if now["metadata"].get("deletionTimestamp"):
            return "waiting"
        if named.label == _name_parent(self.given):
            return "unchanged" if before and _read_parent(before) == _read_parent(now) else "updated"
        if verb in _VERBS:
            return _VERBS[verb]
        owners = [len(one["metadata"].get("ownerReferences", ())) for one in (before or now, now)]
        return "orphaned" if owners[1] < owners[0] else "kept"

    def _judge_gone(self, named: Named, verb: str, *, existed: bool) -> str:
        named_in = [Named.of(one, self.space).label for one in yaml.safe_load_all(self.given.manifest) if one]
        if not existed:
            return "absent" if self.given.is_deletion else "refused"
        if verb == "pruned":
            return "pruned"
        return "deleted" if self.given.is_deletion and named.label in named_in else "collected"


def _name_parent(given: SetQuery) -> str:
    kinds = {"secrets": "Secret", "configmaps": "ConfigMap"}
    kind, _slash, name = given.applyset.partition("/")
    return f"{kinds[kind]}/{name}" if kind else ""


def _read_parent(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in obj["metadata"]["annotations"].items() if key != _ANNOTATION}


@pytest.mark.core(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_object_becomes_what_the_playground_says(managed_plane, case):
    space = f"set-{case.name}"[:58].rstrip("-")
    answer = explain_set(case.ask(space), now="2026-01-01T00:00:00Z")
    said = {f"{row.ref.gvk.kind}/{row.ref.name}": row.outcome.value for row in answer.rows}
    side = Side(managed_plane, case, space)
    side.fill()

    printed = side.run(side.given, side.given.manifest)

    until = time.monotonic() + SECONDS
    while (found := side.judge(printed)) != said and time.monotonic() < until:
        time.sleep(0.5)
    release_all(side)
    assert found == said, printed
    assert said == case.find_outcomes(space)


def release_all(side: Side) -> None:
    """Remove the finalizers of a case, so that nothing waits for ever."""
    for named in side.list_objects():
        if named.kind == "ConfigMap" and named.read(side.plane):
            patch = '{"metadata":{"finalizers":null}}'
            side.plane.kubectl(
                "patch", "configmap", named.name, "-n", named.namespace, "--type=merge", "-p", patch, check=False
            )
