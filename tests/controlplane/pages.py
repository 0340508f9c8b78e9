"""Compare every statement on the pages of a plan and its run with the objects before and after the run.

Rows of fields are read from the models that the pages print, for every field of every object, and once more from the
HTML of the Changes tab; everything else is read from the HTML. A sentence without a pattern, a risk without a claim and
a fact without a check are failures. `APPLYVIZ_PAGES=folder` keeps the text of all pages there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.test import Client
from django.test.html import Element
from django.urls import reverse

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at, is_same_json
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.schema.walk import MISSING, list_leaves
from applyviz.engine.schema.walk import find_value as find_leaf
from applyviz.records.enums import AuditAction, Outcome
from applyviz.records.models import ApplyRun, AuditEntry, Plan
from applyviz.web.api import responses
from applyviz.web.components.phrases import describe_risk
from applyviz.web.components.values import Shown, show_value
from applyviz.web.reviews.pane.flat_rows import RowFilter, present_flat_rows, select_rows
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.live_values import WITHHELD
from tests.controlplane.page_facts import WORDS, Fact, find_claim, is_claimed, is_same_text, read_fact
from tests.controlplane.takeover import JSONObject, name_change
from tests.web import reading

TEMPLATE = ("spec", "template")
_SECTIONS = (("set", "live"), ("filled", "after"))
_REVISION = ("metadata", "annotations", "deployment.kubernetes.io/revision")
_COMPARED = Q(kind="Secret", group="") & ~Q(operation__in=[Operation.CREATE.value, Operation.PRUNE.value])
ROLLED = ("Deployment", "DaemonSet", "StatefulSet")
# Values that the server draws when it creates an object.
_DRAWN = {
    *("f:clusterIP", "f:clusterIPs", "f:nodePort", "f:healthCheckNodePort", "f:uid", "f:creationTimestamp"),
    *("f:managedFields", "f:resourceVersion", "f:generation"),
}


@dataclass
class Told:
    """One object: what was planned (as pages show it), where its page is, and how it was before and is after."""

    change: PlannedObject
    position: int
    url: str
    before: JSONObject | None
    after: JSONObject | None
    root: Any
    you: str

    @property
    def name(self) -> str:
        """Kind and name."""
        return f"{self.change.ref.gvk.kind}/{self.change.ref.name}"

    @property
    def is_new(self) -> bool:
        """Whether another object has the name afterwards."""
        return get_at(self.before, ("metadata", "uid")) != get_at(self.after, ("metadata", "uid"))

    @property
    def restarts(self) -> bool:
        """Whether the pods of a live workload were really replaced: it has some, and its template differs."""
        kind = self.change.ref.gvk.kind
        if self.before is None or kind not in (*ROLLED, "Job") or not self.pods:
            return False
        if self.is_new or kind == "Job":  # nothing restarts the pods of a Job that stays
            return self.is_new and get_at(self.after, ("spec", "replicas")) != 0
        if get_at(self.after, ("spec", "updateStrategy", "type")) == "OnDelete" or get_at(
            self.after, ("spec", "paused")
        ):
            return False
        return bool(get_at(self.before, TEMPLATE) != get_at(self.after, TEMPLATE))

    @property
    def pods(self) -> int:
        """The number of its pods that remain after scaling: controllers scale down before they replace pods."""
        if self.change.ref.gvk.kind == "DaemonSet":
            return int(get_at(self.before, ("status", "desiredNumberScheduled"), 0))
        if self.change.ref.gvk.kind == "Job":
            return int(get_at(self.before, ("spec", "parallelism"), 1))
        pods = [int(get_at(one, ("spec", "replicas"), 1)) for one in (self.before, self.after)]
        return pods[0] if self.is_new else min(pods)

    @cached_property
    def operation(self) -> Operation:
        """Return the operation that was carried out."""
        if self.after is None:
            return Operation.PRUNE
        if self.before is None:
            return Operation.CREATE
        if self.is_new:
            return Operation.REPLACE
        moved = self.moved or self.owners(self.before) != self.owners(self.after)
        return Operation.UPDATE if moved else Operation.UNCHANGED

    def owners(self, obj: JSONObject | None) -> dict[tuple[str, str], str]:
        """The written ownership of an object, without that of controllers."""
        entries = (obj or {}).get("metadata", {}).get("managedFields", ())
        kept = [e for e in entries if not e.get("subresource") and e["manager"] != "kube-controller-manager"]
        return {(e["manager"], e["operation"]): str(sorted(_flatten(e["fieldsV1"]))) for e in kept}

    def owns_less(self, manager: str) -> bool:
        """Whether a field manager loses ownership of a field."""
        who, _bracket, part = manager.removesuffix(")").partition(" (")
        was, now = (
            {
                path
                for entry in (obj or {}).get("metadata", {}).get("managedFields", ())
                if (entry["manager"], entry.get("subresource", "")) == (who, part)
                for path in _flatten(entry["fieldsV1"])
            }
            for obj in (self.before, self.after)
        )
        return bool(was - now)

    @cached_property
    def moved(self) -> set[str]:
        """The fields that really have another value, without those of controllers."""
        leaves = [list_leaves(self.root, drop_server_managed(one or {})) for one in (self.before, self.after)]
        paths = {p for p in {*leaves[0], *leaves[1]} if leaves[0].get(p, MISSING) != leaves[1].get(p, MISSING)}
        facts = [self.fact(p) for p in paths if p and p[:2] != ("f:metadata", "f:managedFields")]
        facts = [f for f in facts if not _DRAWN.intersection(f.path) and not self._names_itself(f)]
        return {render_path(f.path) for f in facts if not f.is_of_controllers}

    def _names_itself(self, fact: Fact) -> bool:
        """Whether a value of a new object differs in nothing but the uid of the object, as the selector of a Job."""
        was, now = (str(get_at(one, ("metadata", "uid"))) for one in (self.before, self.after))
        before, after = (json.dumps(value, default=str) for value in (fact.before, fact.after))
        return self.is_new and before.replace(was, now) == after

    def fact(self, path: Any) -> Fact:
        """One field as it really was and is."""
        wanted = self.change.versions.manifest
        return read_fact(path, self.root, before=self.before, after=self.after, wanted=wanted, you=self.you)


def _flatten(fields: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, below in fields.items():
        if not below:
            yield above if name == "." else f"{above}/{name}"
        else:
            yield from _flatten(below, f"{above}/{name}")


@dataclass
class Pages:
    """The pages of one plan and its run; `false` are the statements that are not so.

    - `exists`: whether the server has an object of this kind, name and namespace.
    - `has_pods`: whether the server has a pod with these labels in a namespace.
    """

    client: Client
    plan: Plan
    exists: Callable[[str, str, str], bool] = lambda kind, name, namespace: False
    has_pods: Callable[[str, str], bool] = lambda labels, namespace: False
    false: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    beyond: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)

    def expect(self, what: str, *, is_true: bool, where: str = "", kind: str = "") -> None:
        """Count one statement, and keep it if it is false."""
        self.checked[kind or what.partition(":")[0]] += 1
        if not is_true:
            self.false.append(f"{where} {kind} {what}".strip())

    def read(self, address: str) -> Element:
        """One page, its text kept."""
        page = reading.read(self.client, address)
        main = next((e for e, _above in reading.walk(page) if e.name == "main"), page)
        self.text.append(f"== {address}\n{reading.lines_of(main)}")
        return page

    def address(self, name: str, *more: object) -> str:
        """The address of a page of the plan."""
        return reverse(f"reviews:{name}", args=[self.plan.review.number, self.plan.number, *more])


def find_class(page: Element, name: str) -> list[Element]:
    """The elements of a class, in their order."""
    return [e for e, _above in reading.walk(page) if name in (reading.attribute(e, "class") or "").split()]


def tell(pages: Pages, before: Mapping[str, JSONObject], after: Mapping[str, JSONObject], find_root: Any) -> list[Told]:
    """All objects of a plan with their real states."""
    found, you = [], options_from_json(pages.plan.options).field_manager
    for row in pages.plan.changes.order_by("position"):
        change, key = changes.read_masked(row), name_change(changes.open_sealed(row))
        url = f"{pages.address('show-changes')}?only={row.position}"
        found.append(Told(change, row.position, url, before.get(key), after.get(key), find_root(change.ref.gvk), you))
    return found


def _hide(counts: Counter[str], hidden: Counter[str]) -> dict[str, int]:
    """Return the counts that every reader sees: Secrets that are compared with live are one group."""
    return {**(counts - hidden), WITHHELD: hidden.total()} if hidden else dict(counts)


def judge_counts(pages: Pages) -> None:
    """The counts of the API, the history and the list of objects are those of the plan."""
    plan = pages.plan
    rows = Counter(plan.changes.values_list("operation", flat=True))
    public = _hide(rows, Counter(plan.changes.filter(_COMPARED).values_list("operation", flat=True)))
    (entry,) = AuditEntry.objects.filter(action=AuditAction.PLAN_COMPLETED, plan_digest=plan.digest)
    told = responses.present_plan(plan, for_user=plan.requested_by, root="")
    listed = responses.list_objects(plan, start=0, count=999)
    pages.expect("counts of the API", is_true=told["counts"]["operations"] == dict(rows))
    pages.expect("counts of the history", is_true=entry.detail["counts"] == public)
    pages.expect("count of the API's objects", is_true=len(listed) == sum(rows.values()))


def judge_fields(pages: Pages, told: Told) -> None:
    """Each row of each field: its word, its values, its owners and its sentence; and no change without a row."""
    options = options_from_json(pages.plan.options)
    reasons = select_rows(told.change, RowFilter.ALL)
    shown = present_flat_rows(told.change, reasons, options=options, url_of=str)
    said = {flat.row.path for flat in shown if flat.row.is_changed}
    for path in sorted(told.moved - said):
        pages.expect(f"{path} changed, and no row says so", is_true=False, where=told.name, kind="missing row")
    for (_place, reason), flat in zip(reasons, shown, strict=True):
        fact = told.fact(reason.path)
        if fact.is_of_controllers:
            pages.beyond["fields of controllers"] += 1
            continue
        where, row = f"{told.name} {flat.row.path}", flat.row
        _judge_sentence(pages, where, fact, row.why)
        if flat.note:
            risks = {describe_risk(risk).partition(": ")[2] or describe_risk(risk) for risk in told.change.risks}
            is_known = flat.note == row.why or any(flat.note in risk for risk in risks)
            pages.expect(f"note {flat.note!r}", is_true=is_known, where=where, kind="note")
        if _is_drawn(fact):
            pages.beyond["values that the server draws"] += 1
            continue
        word = str(row.style.word)
        claim = WORDS.get(word)
        is_true = claim is not None and claim(fact)
        pages.expect(f"{word}: {show_fact(fact)}", is_true=is_true, where=where, kind=f"word {word}")
        versions = told.change.versions
        for which, seen, version, real in (
            ("live", row.live, versions.live, fact.before),
            ("after", row.after, versions.after, fact.after),
        ):
            if (word, which) in _SECTIONS and seen is None and real and isinstance(real, dict | list):
                continue  # what is in a section that becomes empty, or was, has rows of its own
            _judge_value(pages, where, which, seen, _find_leaf(told.root, version, reason.path), real)
        for when, chips, owners in (
            ("before", row.owners_before, fact.owners_before),
            ("after", row.owners_after, fact.owners_after),
        ):
            names = {(o.name, o.operation, o.subresource) for o in chips}
            text = f"owners {when}: said {sorted(names - owners)}, really {sorted(owners - names)}"
            pages.expect(text, is_true=names == owners, where=where, kind=f"owners {when}")


def _find_leaf(root: Any, obj: JSONObject | None, path: Any) -> Any:
    """One leaf of a version as rows name it: entries that share their keys are one."""
    found = find_value(obj, path) if root is None or obj is None else find_leaf(root, obj, path)
    return ABSENT if found is MISSING else found


def show_fact(fact: Fact) -> str:
    """The values of a field, for a message."""
    texts = ("absent" if v is ABSENT else str(v)[:60] for v in (fact.before, fact.after, fact.wanted))
    return "before {}, after {}, wanted {}".format(*texts)


def _is_drawn(fact: Fact) -> bool:
    is_note = fact.path[-1] == "f:kubectl.kubernetes.io/last-applied-configuration"
    return any(element in _DRAWN for element in fact.path) or is_note


def _judge_sentence(pages: Pages, where: str, fact: Fact, sentence: str) -> None:
    found = find_claim(sentence)
    if found is None:
        pages.expect(f"no claim judges {sentence!r}", is_true=False, where=where, kind="unknown sentence")
        return
    pattern, claim, names = found
    is_true = claim(replace(fact, names=names))
    pages.expect(f"{sentence!r}: {show_fact(fact)}", is_true=is_true, where=where, kind=f"sentence {pattern}")


def _judge_value(pages: Pages, where: str, which: str, shown: Shown | None, value: Any, real: Any) -> None:
    """The page prints a value, and it is the real one; of a masked one only that it is there can be judged."""
    if value is not ABSENT and any(is_masked(one) for one in _list_texts(value)):
        pages.expect(f"{which} is there", is_true=real is not ABSENT, where=where, kind=f"masked {which}")
        return
    printed, told = show_value(value), "absent" if value is ABSENT else json.dumps(value)[:300]
    is_so = "absent" if real is ABSENT else json.dumps(real)[:300]
    is_same = (value is ABSENT) == (real is ABSENT) and (value is ABSENT or is_same_json(value, real))
    text = f"{which}: said {told}, really {is_so}"
    pages.expect(text, is_true=is_same and shown == printed, where=where, kind=f"{which} value")


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for below in value.values():
            yield from _list_texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _list_texts(below)
    elif isinstance(value, str):
        yield value


def judge_scroll(pages: Pages, all_told: Iterable[Told], most: int) -> None:
    """Check that the Changes tab shows the rows that were judged, and beside them only notes of these rows."""
    options = options_from_json(pages.plan.options)
    page = pages.read(f"{pages.address('show-changes')}?expand=all")
    by_position = {told.position: told for told in all_told}
    for section in find_class(page, "scroll-object")[:most]:
        told = by_position[int(reading.attribute(section, "data-scroll-object") or -1)]
        reasons = select_rows(told.change, RowFilter.CHANGED)
        rows = {f.row.path: f for f in present_flat_rows(told.change, reasons, options=options, url_of=str)}
        for line in find_class(section, "change"):
            (at,) = find_class(line, "path")[:1]
            path = reading.attribute(at, "title") or ""
            flat = rows.get(path)
            notes = " ".join(map(reading.text_of, find_class(line, "why")[:1])).replace("` ", "`")
            paths = [r.path for r in told.change.fields if flat is None and render_path(r.path) == path]
            is_same = is_same_text(flat.note, notes) if flat else any(is_claimed(told.fact(p), notes) for p in paths)
            pages.expect(f"{path} {notes!r}", is_true=is_same, where=told.name, kind="row of the scroll")
        for note in [*find_class(section, "object-note"), *find_class(section, "object-none")]:
            text = reading.text_of(note)
            is_known = re.fullmatch(
                r"New object: \d+ lines?\.( Defaults of the server are dimmed\.)?|\d+ more fields?|Server warnings .+"
                r"|Only (last-applied|field ownership) .+",
                text,
            )
            pages.expect(text, is_true=bool(is_known), where=told.name, kind="note of the scroll")


def judge_run(pages: Pages, run: ApplyRun) -> None:
    """Results on the page are those of the database, the API and the history."""
    page = pages.read(reverse("runs:show-run", args=[run.number]))
    outcomes = Counter(run.results.values_list("outcome", flat=True))
    told = responses.present_run_with_results(run, for_user=run.requested_by, root="")
    (entry,) = AuditEntry.objects.filter(action=AuditAction.RUN_FINISHED, run=run.number)
    text = reading.text_of(page)
    positions = run.plan.changes.filter(_COMPARED).values_list("position", flat=True)
    compared = run.results.filter(change__position__in=list(positions)).values_list("outcome", flat=True)
    public = _hide(outcomes, Counter(compared))
    answered = dict(Counter(o["outcome"] for o in told["objects"]))
    pages.expect(f"results of the API: {answered}", is_true=answered == public)
    pages.expect(f"results of the history: {entry.detail}", is_true=entry.detail.get("outcomes", run.summary) == public)
    applied = f"{outcomes[Outcome.VERIFIED]} of {sum(outcomes.values())}"
    pages.expect(f"applied objects on the page: {applied}", is_true=applied in text)
    for result in run.results.order_by("position")[:3]:
        pages.read(reverse("runs:show-result", args=[run.number, result.position]))


def judge_requests(pages: Pages, run: ApplyRun) -> None:
    """The requests that the page shows are those that were sent, in their order."""
    for result in run.results.select_related("change").order_by("position"):
        change = changes.read_masked(result.change)
        shown = [(r.method, r.path, dict(r.query)) for r in change.requests if r.is_write]
        # A write that found another version of the object is sent again.
        done = [j for j in result.journal.order_by("sequence") if j.status < 400]
        sent = [(j.method, j.path, j.query) for j in done if j.method != "GET"]
        is_same = sent == shown or (not sent and result.outcome == Outcome.UNCHANGED)
        pages.expect(f"shown {shown}, sent {sent}", is_true=is_same, where=str(result.change), kind="requests")
