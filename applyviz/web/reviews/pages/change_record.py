"""The change record of one plan: everything that a reader of the printed page must know, without a click.

It lists the changes, their risks, who requested, resolved, approved and ran them, and every changed field with its
reason. Objects with identical changes are printed once; new objects as their manifest. What is long is folded on the
screen, never on paper: the page holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from msgspec import Struct

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import ApplyRun, Approval, ObjectChange, Plan, Resolution
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.phrases import describe_reason
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.reviews.pages.addons.table import ChannelTable, present_channel
from applyviz.web.reviews.pages.comments import render_markdown
from applyviz.web.reviews.pages.plan_names import name_identity, name_manager, name_mode, name_target
from applyviz.web.reviews.pages.plan_overview import read_for_reader
from applyviz.web.reviews.pages.plan_summary import describe_left_out, describe_prune, present_impact, present_sentence
from applyviz.web.reviews.pages.risks import HighRisk, list_high_risks
from applyviz.web.reviews.pages.sources.presets import PresetChange, list_changed, name_preset
from applyviz.web.reviews.pages.sources.provenance import FileOrigins, list_origins
from applyviz.web.reviews.pane.fields import FieldFilter, FieldRow, RowParts, present_rows, select_reasons
from applyviz.web.reviews.pane.object_notices import present_notices
from applyviz.workflow import policies
from applyviz.workflow.approvals.comments import list_comments
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.people import commit_people
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import WITHHELD, list_rows
from applyviz.workflow.policies.risks import gather_risks

MOST_PRINTED = 300
LONG = 12


class PrintedObject(Struct, frozen=True):
    """One object, or several with an identical change (`others` names them)."""

    style: Appearance
    kind: str
    name: str
    namespace: str
    where: str
    notices: tuple[Notice, ...]
    rows: tuple[FieldRow, ...]
    text: str
    others: tuple[str, ...]
    outcome: str

    @property
    def lines(self) -> int:
        """The number of lines of its manifest."""
        return len(self.text.splitlines())

    @property
    def is_long(self) -> bool:
        """Whether its manifest or its fields are folded on the screen."""
        return max(self.lines, sum(max(1, len(row.lines)) for row in self.rows)) > LONG


class PrintedComment(Struct, frozen=True):
    """One comment."""

    by: str
    at: object
    about: str
    html: SafeString


class ChangeRecord(Struct, frozen=True):
    """The change record."""

    plan: Plan
    target: str
    server: str
    mode: str | Promise
    manager: str
    prune: str
    without: str
    identity: str
    preset: str
    preset_changes: tuple[PresetChange, ...]
    sentence: str
    impact: tuple[str, ...]
    high_risks: tuple[HighRisk, ...]
    decisions: Sequence[Resolution]
    approvals: Sequence[Approval]
    comments: tuple[PrintedComment, ...]
    run: ApplyRun | None
    origins: FileOrigins
    channel: ChannelTable | None
    objects: tuple[PrintedObject, ...]
    left_out: int
    unchanged: int
    back_url: str

    @property
    def long(self) -> int:
        """The number of objects that are folded on the screen."""
        return sum(one.is_long for one in self.objects)


def _find_outcomes(run: ApplyRun | None) -> dict[int, str]:
    if run is None:
        return {}
    return {result.position: result.get_outcome_display() for result in run.results.all()}


def _print_fields(change: engine.PlannedObject, options: ApplyOptions) -> tuple[FieldRow, ...]:
    reasons = select_reasons(change, FieldFilter.CHANGES)
    parts = RowParts(has_versions=False)
    rows = present_rows(change, reasons, options=options, explain=describe_reason, url_of=lambda index: "", parts=parts)
    return tuple(rows)


def _print_object(
    row: ObjectChange, change: engine.PlannedObject, options: ApplyOptions, others: tuple[str, ...], outcome: str
) -> PrintedObject:
    is_new = change.operation is Operation.CREATE
    return PrintedObject(
        style=OBJECT_STYLES[change.operation],
        kind=change.ref.gvk.kind,
        name=change.ref.name,
        namespace=change.ref.namespace,
        where=str(change.position) if change.position.line else change.position.file,
        notices=present_notices(change),
        rows=() if is_new else _print_fields(change, options),
        text=render_yaml(change.versions.manifest) if is_new and change.versions.manifest else "",
        others=others,
        outcome=outcome,
    )


def _print_objects(
    plan: Plan,
    printed: Sequence[tuple[ObjectChange, tuple[str, ...]]],
    options: ApplyOptions,
    outcomes: Mapping[int, str],
) -> Iterator[PrintedObject]:
    """Yield objects of a plan; the documents of the others are not read."""
    others_of = {row.position: others for row, others in printed}
    for row in list_rows(plan, Q(position__in=others_of), with_documents=True):
        others, outcome = others_of[row.position], outcomes.get(row.position, "")
        yield _print_object(row, read_masked(row), options, others, outcome)


def _group(rows: Sequence[ObjectChange], plan: Plan) -> Iterator[tuple[ObjectChange, tuple[str, ...]]]:
    """Yield each printed object, with the names of those that have the same change."""
    found = read_for_reader(plan).same if plan.digest else ()
    groups = [group for group in found if group.is_same]  # objects with different values are printed separately
    leaders = {min(group.positions): group.positions for group in groups}
    followers = frozenset().union(*(g.positions for g in groups)) - leaders.keys()
    names = {row.position: f"{row.kind} {row.name}" for row in rows}
    for row in rows:
        if row.position not in followers:
            alike = sorted(leaders.get(row.position, frozenset()) - {row.position})
            yield row, tuple(names[position] for position in alike if position in names)


def _print_comments(plan: Plan) -> tuple[PrintedComment, ...]:
    return tuple(
        PrintedComment(c.by.get_username(), c.created_at, f"{c.object_key} {c.path}".strip(), render_markdown(c.text))
        for c in list_comments(plan)
    )


def _list_high_risks(plan: Plan, changes: Sequence[ObjectChange]) -> tuple[HighRisk, ...]:
    if not plan.digest:
        return ()
    many = policies.find_policy(plan).many_objects
    found = gather_risks(changes, many=many, unknown=commit_people.find_unknown(plan))
    return list_high_risks(changes, found, url_of=lambda position: "")


def present_record(plan: Plan, *, for_user: Person) -> ChangeRecord:
    """Return the record; at most `MOST_PRINTED` objects with their fields."""
    options, changes = options_from_json(plan.options), list_rows(plan)
    run = ApplyRun.objects.filter(plan=plan).first()
    rows = [row for row in changes if row.operation != Operation.UNCHANGED]
    printed = [(row, others) for row, others in _group(rows, plan) if row.operation != WITHHELD]
    return ChangeRecord(
        plan=plan,
        target=name_target(plan, options, changes),
        server=plan.target.cluster.server,
        mode=name_mode(options),
        manager=name_manager(options),
        prune=describe_prune(options),
        without=describe_left_out(options),
        identity=name_identity(plan),
        preset=name_preset(plan.review),
        preset_changes=list_changed(plan.review, for_user=for_user),
        sentence=present_sentence(plan),
        impact=present_impact(plan),
        high_risks=_list_high_risks(plan, changes),
        decisions=list(plan.review.decisions.filter(undone_at=None).select_related("by")),
        approvals=list(plan.approvals.all()),
        comments=_print_comments(plan),
        run=run,
        origins=list_origins(plan),
        channel=present_channel(options),
        objects=tuple(_print_objects(plan, printed[:MOST_PRINTED], options, _find_outcomes(run))),
        left_out=max(0, len(printed) - MOST_PRINTED),
        unchanged=plan.counts.get(Operation.UNCHANGED, 0),
        back_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
    )
