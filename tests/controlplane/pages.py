"""Compare the statements on the pages of a plan and its run with the objects after the run.

The pages are read without a browser, for each object its changes and its result. A program checks counts, restarts,
images, every row of a field, risks and results. `APPLYVIZ_PAGES=folder` keeps the text of all pages there, so that
people can read it: `APPLYVIZ_PAGES=folder pytest -m long tests/controlplane/test_pages.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.test import Client
from django.test.html import Element
from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.risks.model import Risk, RiskKind
from applyviz.engine.schema.walk import list_leaves
from applyviz.records.enums import AuditAction, Outcome
from applyviz.records.models import ApplyRun, AuditEntry, Plan
from applyviz.web.api import responses
from applyviz.web.components.badges import FIELD_STYLES
from applyviz.workflow.plans import changes
from tests.controlplane.takeover import JSONObject, name_change
from tests.web import reading

_TEMPLATE = ("spec", "template")
_REVISION = ("metadata", "annotations", "deployment.kubernetes.io/revision")
_ROLLED = ("Deployment", "DaemonSet", "StatefulSet")
_RBAC = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


@dataclass
class Told:
    """One object: what was planned, what its pages say, and how it was before and is after."""

    change: PlannedObject
    url: str
    before: JSONObject | None
    after: JSONObject | None
    root: Any = None

    @property
    def name(self) -> str:
        """Kind and name."""
        return f"{self.change.ref.gvk.kind}/{self.change.ref.name}"

    @property
    def restarts(self) -> bool:
        """Whether the pods of a live workload were really replaced: its template differs."""
        if self.before is None or self.change.ref.gvk.kind not in _ROLLED:
            return False
        return get_at(self.before, _TEMPLATE) != get_at(self.after, _TEMPLATE)

    def leaves(self, obj: JSONObject | None) -> set[FieldPath]:
        """The places of an object that hold something."""
        return set(list_leaves(self.root, obj or {}))


def _is_at_or_below(path: str, leaves: set[str]) -> bool:
    return any(leaf == path or leaf.startswith((f"{path}.", f"{path}[")) for leaf in leaves)


def _check_scope(told: Told, risk: Risk) -> bool:
    return not told.change.ref.namespace


def _check_kind(*kinds: str) -> Callable[[Told, Risk], bool]:
    return lambda told, risk: told.change.ref.gvk.kind in kinds


def _is_kept(told: Told, risk: Risk) -> bool:
    shown = {render_path(path) for path in told.leaves(told.after)}
    return _is_at_or_below(render_path(risk.path), shown)


CLAIMS: Mapping[RiskKind, Callable[[Told, Risk], bool]] = {
    RiskKind.CLUSTER_SCOPED: _check_scope,
    RiskKind.RBAC_CHANGED: _check_kind(*_RBAC),
    RiskKind.CRD_CHANGED: _check_kind("CustomResourceDefinition"),
    RiskKind.API_SERVICE_CHANGED: _check_kind("APIService"),
    RiskKind.NAMESPACE_CHANGED: _check_kind("Namespace"),
    RiskKind.ADMISSION_RULES_CHANGED: _check_kind(
        "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy"
    ),
    RiskKind.SYSTEM_NAMESPACE: lambda told, risk: told.change.ref.namespace.startswith("kube-"),
    RiskKind.PODS_RESTART: lambda told, risk: told.restarts,
    RiskKind.REMOVAL_WILL_NOT_HAPPEN: _is_kept,
    RiskKind.DELETED: lambda told, risk: told.after is None,
    RiskKind.REPLACED: lambda told, risk: (
        get_at(told.before, ("metadata", "uid")) != get_at(told.after, ("metadata", "uid"))
    ),
    RiskKind.SECRET_CONTENT: _check_kind("Secret"),
    RiskKind.NO_LAST_APPLIED: lambda told, risk: (
        "kubectl.kubernetes.io/last-applied-configuration" not in get_at(told.before, ("metadata", "annotations"), {})
    ),
}
"""Checks of the claims of risks; people judge risks without a check."""


@dataclass
class Pages:
    """The pages of one plan and its run."""

    client: Client
    plan: Plan
    false: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    unchecked: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)

    def expect(self, what: str, *, is_true: bool, where: str = "") -> None:
        """Count one statement, and keep it if it is false."""
        self.checked[what.partition(":")[0]] += 1
        if not is_true:
            self.false.append(f"{where} {what}".strip())

    def read(self, address: str) -> Element:
        """One page, its text kept."""
        page = reading.read(self.client, address)
        main = next(e for e, _above in reading.walk(page) if e.name == "main")
        self.text.append(f"== {address}\n{reading.lines_of(main)}")
        return page

    def address(self, name: str, *more: object) -> str:
        """The address of a page of the plan."""
        return reverse(f"reviews:{name}", args=[self.plan.review.number, self.plan.number, *more])


def _class(page: Element, name: str) -> list[Element]:
    return [e for e, _above in reading.walk(page) if name in (reading.attribute(e, "class") or "").split()]


def read_plan(pages: Pages) -> None:
    """The counts of deck, sentence, list, API and history are the same."""
    plan = pages.plan
    page = pages.read(pages.address("show-plan"))
    pages.read(pages.address("confirm-plan"))
    rows = Counter(plan.changes.values_list("operation", flat=True))
    (entry,) = AuditEntry.objects.filter(action=AuditAction.PLAN_COMPLETED, plan_digest=plan.digest)
    told = responses.present_plan(plan, for_user=plan.requested_by, root="")
    sentence = reading.text_of(_class(page, "sentence")[0])
    numbers = Counter(int(n) for n in re.findall(r"\d+", sentence))
    writes = sum(n for operation, n in rows.items() if operation not in (Operation.UNCHANGED, Operation.ERROR))
    button = reading.text_of(_class(page, "go")[0])
    pages.expect("counts of the API", is_true=told["counts"]["operations"] == dict(rows))
    pages.expect("counts of the history", is_true=entry.detail["counts"] == dict(rows))
    pages.expect(f"counts of the sentence: {sentence} {rows}", is_true=not Counter(rows.values()) - numbers)
    pages.expect(f"count of the button: {button} {writes}", is_true=str(writes) in re.findall(r"\d+", button))
    pages.expect(
        "count of the API's objects",
        is_true=len(responses.list_objects(plan, start=0, count=999)) == sum(rows.values()),
    )


def _read_row(row: Element) -> tuple[str, str]:
    """Return the operation and the field of a row."""
    said = reading.text_of(_class(row, "op")[0])
    path = next(e for e, _above in reading.walk(row) if e.name == "dd")
    return said.split(" ", 1)[-1], "".join(reading.text_of(path.children[0]).split())


def judge_rows(pages: Pages, told: Told) -> None:
    """Each row that says removed, set or changed is so afterwards."""
    start, before, after = 1, told.leaves(told.before), told.leaves(told.after)
    shown_before, shown_after = ({"".join(render_path(p).split()) for p in places} for places in (before, after))
    words = {str(FIELD_STYLES[o].word): o for o in FIELD_STYLES}
    page = pages.read(told.url)
    while True:
        for row in reading.find_all(page, "details", has="data-field-row"):
            word, path = _read_row(row)
            operation = words[word]
            if operation is FieldOperation.CLEARED:
                pages.expect(f"removed: {path}", is_true=not _is_at_or_below(path, shown_after), where=told.name)
            elif operation is FieldOperation.SET:
                is_new = _is_at_or_below(path, shown_after) or not _is_at_or_below(path, shown_before)
                pages.expect(f"set: {path}", is_true=is_new, where=told.name)
            elif operation in (FieldOperation.CHANGED, FieldOperation.KEPT):
                pages.expect(f"{operation}: {path}", is_true=_is_at_or_below(path, shown_after), where=told.name)
        following = [a for a in reading.find_all(page, "a") if reading.attribute(a, "rel") == "next"]
        if not following or start > 50:
            return
        start += 1
        page = pages.read((reading.attribute(following[0], "href") or "").partition("#")[0])


def judge_risks(pages: Pages, told: Told) -> None:
    """Check the claim of each risk."""
    for risk in told.change.risks:
        claim = CLAIMS.get(risk.kind)
        if claim is None or told.change.operation is Operation.BLOCKED:
            pages.unchecked[risk.kind.value] += 1
        else:
            pages.expect(f"risk {risk.kind.value}: {dict(risk.facts)}", is_true=claim(told, risk), where=told.name)
    if told.restarts:
        is_said = any(h.kind is RiskKind.PODS_RESTART for h in told.change.risks)
        pages.expect("restart without a risk", is_true=is_said, where=told.name)


def _images(obj: JSONObject | None) -> set[tuple[str, str]]:
    spec = get_at(obj, (*_TEMPLATE, "spec"), {})
    return {(c["name"], c["image"]) for key in ("containers", "initContainers") for c in spec.get(key, ())}


def judge_impact(pages: Pages, all_told: list[Told]) -> None:
    """Restarts and images of the head are those that happened."""
    summary = pages.plan.summary
    said = sorted(f"{one['ref'][0][2]}/{one['ref'][2]}" for one in summary["restarts"])
    real = sorted(told.name for told in all_told if told.restarts)
    pages.expect(f"restarts: said {said}, really {real}", is_true=said == real)
    for told in all_told:
        if told.change.ref.gvk.kind == "Deployment" and told.before is not None:
            moved = get_at(told.before, _REVISION) != get_at(told.after, _REVISION)
            pages.expect("revision of the controller", is_true=moved == told.restarts, where=told.name)
    changed = sum(
        len(
            {name for name, _i in _images(t.before) ^ _images(t.after)}
            & dict(_images(t.before)).keys()
            & dict(_images(t.after)).keys()
        )
        for t in all_told
        if t.before is not None and t.after is not None
    )
    pages.expect(
        f"images: said {summary['images_changed']}, really {changed}", is_true=summary["images_changed"] == changed
    )


def judge_run(pages: Pages, run: ApplyRun) -> None:
    """Results on the page are those of the database, the API and the history."""
    page = pages.read(reverse("runs:show-run", args=[run.number]))
    outcomes = Counter(run.results.values_list("outcome", flat=True))
    told = responses.present_run_with_results(run, root="")
    (entry,) = AuditEntry.objects.filter(action=AuditAction.RUN_FINISHED, run=run.number)
    counts = " ".join(map(reading.text_of, _class(page, "outcomes")))
    shown = sum(int(number) for number in re.findall(r"\d+", counts))
    strip = " ".join(map(reading.text_of, _class(page, "run-strip")))
    pages.expect("results of the API", is_true=Counter(o["outcome"] for o in told["objects"]) == outcomes)
    pages.expect(
        f"results of the history: {entry.detail}", is_true=entry.detail.get("outcomes", run.summary) == dict(outcomes)
    )
    pages.expect(f"results of the page: {counts} {outcomes}", is_true=shown == sum(outcomes.values()))
    applied = f"{outcomes[Outcome.VERIFIED]} of {sum(outcomes.values())} objects applied"
    pages.expect(f"objects that the page calls applied: {strip}", is_true=applied in strip)
    for result in run.results.order_by("position"):
        pages.read(reverse("runs:show-result", args=[run.number, result.position]))


def judge_objects(
    pages: Pages, before: Mapping[str, JSONObject], after: Mapping[str, JSONObject], find_root: Callable[[Any], Any]
) -> None:
    """The pages of all objects, and the head of the plan, against the objects before and after."""
    all_told = list(_tell(pages, before, after, find_root))
    for told in all_told:
        judge_rows(pages, told)
        judge_risks(pages, told)
    judge_impact(pages, all_told)


def _tell(
    pages: Pages, before: Mapping[str, JSONObject], after: Mapping[str, JSONObject], find_root: Callable[[Any], Any]
) -> Iterator[Told]:
    for row in pages.plan.changes.order_by("position"):
        change = changes.open_sealed(row)
        key, url = name_change(change), pages.address("show-object", row.position, "changes")
        yield Told(change, url, before.get(key), after.get(key), find_root(change.ref.gvk))
