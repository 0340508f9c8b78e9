"""Whatever was done to an object before, the reasons of its next plan are exactly the difference live → after.

Histories at random, planned as the product plans: applies of both ways by several field managers, migrations between
them, other writers, last applied configurations that are missing or odd, custom kinds whose topology changes, prune.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections import Counter
from typing import Any

import pytest

from applyviz.engine.diff.structural import diff_objects
from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership import updates
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.planner import plan_object
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.sources import SourceChain
from applyviz.engine.schema.walk import MISSING
from tests.controlplane.generated_objects import Inventor, change_topology, make_definition
from tests.engine.reorderings import find_reorderings

MANAGERS = ("kubectl", "kubectl-client-side-apply", "alice", "helm")
BUILT_IN = (("apps", "v1", "Deployment"), ("", "v1", "Service"), ("", "v1", "ConfigMap"), ("batch", "v1", "CronJob"))
ODD_ANNOTATIONS = ("", "{}", "null", "broken", "[1]", '{"spec":{"a":1},"metadata":{"labels":{"gone":"1"}}}')
SEED = int(os.environ.get("APPLYVIZ_SEED", "1"))


class History:
    """One object and what becomes of it; the same seed gives the same history."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.inventor = Inventor(rng, rng.choice((0.2, 0.4, 0.7)))
        self.definition = make_definition(rng, seed) if rng.random() < 0.6 else None
        self.live: dict[str, Any] | None = None
        self.wanted: Any = None

    def choose_kind(self) -> tuple[SourceChain, KindSchema]:
        """The kind as it is now: a definition changes its lists and maps now and then."""
        if self.definition is None:
            gvk = GroupVersionKind(*BUILT_IN[self.rng.randrange(len(BUILT_IN))])
            if self.live is not None:
                gvk = GroupVersionKind.from_object(self.live)
            catalog = SourceChain(bundled())
        else:
            if self.rng.random() < 0.15:
                self.definition = change_topology(self.definition, self.rng)
            spec = self.definition["spec"]
            gvk = GroupVersionKind(spec["group"], self.rng.choice(spec["versions"])["name"], "Thing")
            catalog = SourceChain(CRDSource([self.definition]), bundled())
        kind = catalog.find_kind(gvk)
        assert kind is not None
        return catalog, kind

    def write_manifest(self, kind: KindSchema) -> dict[str, Any]:
        rng = self.rng
        if self.wanted is None:
            self.wanted = self.inventor.make(kind.root, 6)
        self.wanted = self.inventor.change(kind.root, self.wanted, rng.choice((0.02, 0.1, 0.3)))
        wanted = self.wanted if isinstance(self.wanted, dict) else {}
        intent = self.inventor.pick(wanted, rng.choice((0.6, 0.9, 1)))
        labels = {k: rng.choice(("1", "2", None)) for k in rng.sample("ab", rng.randint(0, 2))}
        head = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
        return {**intent, **head, "metadata": {"name": "n", "namespace": "shop", "labels": labels}}

    def plan(self, catalog: SourceChain, manifest: dict[str, Any]) -> PlannedObject:
        rng = self.rng
        mode = rng.choice(tuple(ApplyMode))
        options = ApplyOptions(
            mode=mode,
            field_manager=rng.choice(MANAGERS),
            takes_over=mode is ApplyMode.SERVER and rng.random() < 0.5,
            is_overwriting=rng.random() < 0.9,
        )
        (document,) = parse_manifests(json.dumps(manifest).encode(), "a.json").documents
        context = PlanningContext(catalog, "2026-01-01T00:00:00Z", can_dry_run=False)
        flow = plan_object(document, options=options, context=context)
        answer = Answer(404, {"reason": "NotFound"}) if self.live is None else Answer(200, copy.deepcopy(self.live))
        next(flow)
        try:
            while True:
                flow.send(answer)
        except StopIteration as stop:
            change: PlannedObject = stop.value
            return change

    def follow(self, change: PlannedObject, kind: KindSchema) -> None:
        """The live object of the next step: what the plan promised, then perhaps what somebody else writes."""
        rng = self.rng
        if change.operation in (Operation.CREATE, Operation.UPDATE, Operation.REPLACE):
            self.live = copy.deepcopy(dict(change.versions.after or {}))
            self.live["metadata"] |= {"uid": "u", "resourceVersion": str(rng.randint(1, 99))}
        if self.live is None or rng.random() < 0.5:
            return
        changed = self.inventor.change(kind.root, {k: v for k, v in self.live.items() if k != "metadata"}, 0.15)
        new = {**(changed if isinstance(changed, dict) else {}), "metadata": copy.deepcopy(self.live["metadata"])}
        new |= {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
        if rng.random() < 0.3:
            annotations = new["metadata"].get("annotations") or {}
            new["metadata"]["annotations"] = {**annotations, LAST_APPLIED: rng.choice(ODD_ANNOTATIONS)}
        try:
            entries = updates.update(
                self.live, new, kind=kind, manager=rng.choice(MANAGERS), now="2026-01-02T00:00:00Z"
            )
        except Exception:  # what the server cannot track it does not track
            entries = []
        new["metadata"]["managedFields"] = entries
        self.live = new


def find_wrong_reasons(change: PlannedObject, kind: KindSchema) -> list[str]:
    """What is told and did not happen, or happened and is not told."""
    versions, root = change.versions, kind.root
    after = versions.after if versions.after is not None else versions.merged
    if after is None and change.operation is not Operation.PRUNE:
        after = versions.live
    differences = {d.path: d for d in diff_objects(versions.live, after, root=root)}
    changing = {r.path: r for r in change.fields if r.operation in CHANGING and r.reason is not Reason.ORDER}
    wrong = [f"told: {path}" for path in changing if path not in differences]
    wrong += [f"not told: {path}" for path in differences if path not in changing]
    orders = [r.path for r in change.fields if r.reason is Reason.ORDER]
    wrong += ["orders"] if orders != list(find_reorderings(versions.live, after, root=root)) else []
    wrong += [
        f"twice: {k}" for k, n in Counter((r.path, r.reason is Reason.ORDER) for r in change.fields).items() if n > 1
    ]
    for path, reason in changing.items():
        gone = path in differences and differences[path].after is MISSING
        wrong += [f"not cleared: {path}"] if (reason.operation is FieldOperation.CLEARED) != gone else []
    return wrong


def tell(seed: int, counts: Counter[str]) -> list[object]:
    """Every wrong reason of one history."""
    history = History(seed)
    wrong: list[object] = []
    for step in range(history.rng.randint(2, 12)):
        catalog, kind = history.choose_kind()
        change = history.plan(catalog, history.write_manifest(kind))
        counts[change.operation.value] += 1
        found = find_wrong_reasons(change, kind)
        if found:
            wrong.append((seed, step, change.operation.value, found))
        history.follow(change, kind)
    return wrong


@pytest.mark.covering
@pytest.mark.core(2)
@pytest.mark.parametrize("part", range(4))
def test_reasons_of_odd_histories_are_the_difference(part: int) -> None:
    counts: Counter[str] = Counter()

    wrong = [found for seed in range(SEED * 1_000 + part, SEED * 1_000 + 60, 4) for found in tell(seed, counts)]

    assert wrong == []
    assert all(counts[each.value] for each in (Operation.CREATE, Operation.UPDATE, Operation.BLOCKED))


@pytest.mark.long
def test_reasons_of_very_many_odd_histories_are_the_difference() -> None:
    counts: Counter[str] = Counter()

    wrong = [found for seed in range(SEED * 100_000, SEED * 100_000 + 4_000) for found in tell(seed, counts)]

    assert wrong[:5] == []
