"""Random histories of objects: several writers, one after the other, each answered by the Go libraries.

Every answer is the live object of the next step, so that managed fields come from the real thing and grow odd by
themselves: shared, given up, folded, written under another version or another topology. Now and then somebody
edits them. Half of the histories are of built-in kinds, half of random custom resources.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from applyviz.conformance.ownership import Kinds
from applyviz.conformance.stories import NOW
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema
from tests.controlplane.generated_objects import Inventor, change_topology, make_definition
from tests.controlplane.judge import Judge

MANAGERS = ("kubectl", "hpa", "alice", "", "helm", "kubectl-client-side-apply", "before-first-apply")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ODD_ELEMENTS = ('v:"x"', "v:1.0", 'k:{"name":"a"}', 'k:{"port":80.0,"protocol":"TCP"}', "i:0", "f:foo", "x:new")
# What hangs on the order of a Go map shows when asked often enough.
_TIMES_ASKED = {"ssa": 6, "update": 6, "csaupgrade": 14}
Case = dict[str, Any]


def list_builtin() -> list[GroupVersionKind]:
    """The built-in kinds that can be patched."""
    # The oracle has the Go types of the clients, which know no APIService.
    found = [r.gvk for r in bundled().list_resources() if "patch" in r.verbs and r.gvk.kind != "APIService"]
    return [gvk for gvk in found if bundled().find_kind(gvk) is not None]


class Historian:
    """Writes histories; `definitions` are the custom ones that the cases name."""

    def __init__(self, judge: Judge, seed: int) -> None:
        self.judge = judge
        self.rng = random.Random(seed)
        self.definitions = {str(n): make_definition(self.rng, n) for n in range(24)}
        # The same definitions after their authors changed list and map types.
        self.definitions |= {f"{n}/2": change_topology(d, self.rng) for n, d in self.definitions.items()}
        self.kinds = Kinds(self.definitions)
        self.builtin = list_builtin()

    def make_cases(self, count: int) -> Iterator[Case]:
        """That many cases with their answers."""
        made = 0
        while made < count:
            for case in self._tell():
                made += 1
                yield case
                if made == count:
                    return

    def _choose_kind(self) -> tuple[str, list[GroupVersionKind]]:
        if self.rng.random() < 0.5:
            return "", [self.rng.choice(self.builtin)]
        crd = self.rng.choice(sorted(self.definitions))
        spec = self.definitions[crd]["spec"]
        return crd, [GroupVersionKind(spec["group"], v["name"], "Thing") for v in spec["versions"]]

    def _tell(self) -> Iterator[Case]:
        """One history."""
        rng = self.rng
        crd, gvks = self._choose_kind()
        inventor = Inventor(rng, rng.choice((0.2, 0.5, 0.8)))
        wanted = inventor.make(self.kinds.get(gvks[0], crd).root, 6)
        live: Any = None
        for _ in range(rng.randint(1, 16)):
            if crd and rng.random() < 0.06:
                crd = crd.removesuffix("/2") if crd.endswith("/2") else f"{crd}/2"
            kind = self.kinds.get(rng.choice(gvks), crd)
            wanted = inventor.change(kind.root, wanted, rng.choice((0.02, 0.1, 0.3)))
            wanted = wanted if isinstance(wanted, dict) else {}
            case = self._make_case(inventor, kind, crd, wanted, live)
            answer = self._ask(case)
            if answer is None:
                return
            yield {**case, "expected": answer}
            if "result" in answer:
                live = self._continue(case, answer["result"])
                yield from self._tell_upgrade(live)

    def _make_case(self, inventor: Inventor, kind: KindSchema, crd: str, wanted: Case, live: Any) -> Case:
        rng = self.rng
        given: Case = {"gvk": kind.gvk._asdict(), "live": live, "manager": rng.choice(MANAGERS)}
        if crd:
            given["crd"] = crd
        if rng.random() < 0.12 and kind.has_status:
            given["subresource"] = rng.choice(("status", "scale"))
        metadata = wanted.get("metadata")
        kept = (
            {k: v for k, v in metadata.items() if k in ("labels", "annotations", "finalizers")}
            if isinstance(metadata, dict)
            else {}
        )
        head = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
        intent = {**inventor.pick(wanted, rng.choice((0.6, 0.9, 1))), **head}
        intent["metadata"] = {**kept, "name": "n", "namespace": "shop"}
        if rng.random() < 0.62:
            return {"op": "ssa", "input": {**given, "applied": intent, "force": rng.random() < 0.45}}
        return {"op": "update", "input": {**given, "new": self._make_new(inventor, kind, intent, live)}}

    def _make_new(self, inventor: Inventor, kind: KindSchema, intent: Case, live: Any) -> Case:
        rng = self.rng
        new = dict(intent)
        if live is not None:
            changed = inventor.change(kind.root, {k: v for k, v in live.items() if k != "metadata"}, 0.2)
            changed = changed if isinstance(changed, dict) else {}
            new = {
                **changed,
                **(intent if rng.random() < 0.3 else {}),
                **{k: intent[k] for k in ("apiVersion", "kind")},
            }
            new["metadata"] = copy.deepcopy(live["metadata"])
            if rng.random() < 0.3:
                new["metadata"].pop("managedFields", None)
            elif rng.random() < 0.5:
                self._edit_entries(new)
        if rng.random() < 0.2:
            annotations = new["metadata"].get("annotations")
            known = annotations if isinstance(annotations, dict) else {}
            new["metadata"]["annotations"] = {**known, LAST_APPLIED: '{"apiVersion":"v1","kind":"Thing"}'}
        return new

    def _ask(self, case: Case) -> Case | None:
        asked = {**case, "input": dict(case["input"])}
        if case["input"].get("crd"):
            asked["input"]["crd"] = self.definitions[case["input"]["crd"]]
        answers = [self.judge.ask(asked) for _ in range(_TIMES_ASKED[case["op"]])]
        first: Case | None = answers[0]
        return first if first is not None and all(a == first for a in answers) else None

    def _continue(self, case: Case, result: Any) -> Case:
        """The live object of the next step."""
        live: Case = copy.deepcopy(result if case["op"] == "ssa" else {**case["input"]["new"]})
        if not isinstance(live.get("metadata"), dict):
            live["metadata"] = {"name": "n"}
        if case["op"] == "update":
            live["metadata"]["managedFields"] = copy.deepcopy(result)
        if self.rng.random() < 0.9:
            live["metadata"]["uid"] = "1"
        for entry in live["metadata"].get("managedFields") or []:
            if entry.get("time") == NOW:  # the next write is later
                entry["time"] = f"2025-01-01T00:00:0{self.rng.randint(0, 9)}Z"
        if self.rng.random() < 0.15:
            self._edit_entries(live)
        return live

    def _edit_entries(self, obj: Case) -> None:
        entries = obj["metadata"].get("managedFields")
        for entry in entries if isinstance(entries, list) else []:
            turn = self.rng.random()
            if turn < 0.15:
                entry["fieldsV1"] = self._edit_fields(entry.get("fieldsV1"))
            elif turn < 0.17:
                entry["apiVersion"] = self.rng.choice(("apps/v1", "v1", "example.com/v9"))
            elif turn < 0.18:
                entry[self.rng.choice(("operation", "fieldsType", "subresource"))] = self.rng.choice(("", "status"))
            elif turn < 0.19:
                entry.pop(self.rng.choice(("time", "fieldsV1")), None)
        if self.rng.random() < 0.03:
            obj["metadata"]["managedFields"] = self.rng.choice(([], [{}]))

    def _edit_fields(self, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        edited = {k: self._edit_fields(v) for k, v in fields.items() if self.rng.random() > 0.05}
        if self.rng.random() < 0.02:
            edited[self.rng.choice(_ODD_ELEMENTS)] = self.rng.choice(({}, {"f:a": {}}, {".": {}}))
        return edited

    def _tell_upgrade(self, live: Case) -> Iterator[Case]:
        if self.rng.random() < 0.05:
            names = self.rng.sample(MANAGERS, self.rng.randint(0, 1))
            given = {"live": copy.deepcopy(live), "manager": self.rng.choice(MANAGERS), "csaManagers": names}
            answer = self._ask({"op": "csaupgrade", "input": given})
            if answer is not None:
                yield {"op": "csaupgrade", "input": given, "expected": answer}
