"""The manifests of a repository, a chart or links that changed since the last run, file by file, as lines."""

from __future__ import annotations

from itertools import groupby

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.records.enums import PlanState
from applyviz.records.models import ApplyRun, Plan
from applyviz.web.reviews.pane.diff_lines import DiffRow, diff_manifests
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans.source_runs.manifests import ManifestDifference, ManifestDifferences, compare_manifests
from applyviz.workflow.plans.source_runs.same_source import ComparedSource, find_last_run, list_compared


class SourceDiffObject(Struct, frozen=True):
    """One object whose manifest differs; `note` says that it is new or removed, "" for a changed one."""

    kind: str
    name: str
    namespace: str
    line: int
    note: str
    rows: tuple[DiffRow, ...]


class SourceDiffFile(Struct, frozen=True):
    """One file of the source with its changed objects."""

    name: str
    objects: tuple[SourceDiffObject, ...]


class SourceDiff(Struct, frozen=True):
    """The changed files; `more` objects are not listed, `holds_masked`: some values are masked."""

    plan: Plan
    run: ApplyRun
    back_url: str
    run_url: str
    files: tuple[SourceDiffFile, ...]
    more: int
    holds_masked: bool


def _describe(change: ManifestDifference) -> str:
    if change.before is None:
        return _("new in the source")
    return _("no longer in the source") if change.after is None else ""


def _present_object(change: ManifestDifference) -> SourceDiffObject:
    latest, before, after = change.latest, change.before, change.after
    return SourceDiffObject(
        kind=latest.ref.gvk.kind,
        name=latest.ref.name,
        namespace=latest.ref.namespace,
        line=latest.position.line if after is not None else 0,
        note=_describe(change),
        rows=diff_manifests(latest.ref.gvk, before.content if before else None, after.content if after else None),
    )


def _group(found: ManifestDifferences) -> tuple[SourceDiffFile, ...]:
    ordered = sorted(found.changes, key=lambda one: (one.latest.position.file, one.latest.position.line))
    groups = groupby(ordered, key=lambda one: one.latest.position.file)
    return tuple(SourceDiffFile(name, tuple(map(_present_object, changes))) for name, changes in groups)


def present_source_diff(plan: Plan, asked: ComparedSource | None, *, for_user: Person) -> SourceDiff:
    """Return the manifests of one source that changed since its last run; by default of the first that is compared.

    - Raises `NotVisibleError` without such a run that this person may see, and before the plan is complete.
    """
    compared = list_compared(plan.revision) if plan.state == PlanState.COMPLETE else ()
    source = asked or next(iter(compared), None)
    run = find_last_run(plan, source, for_user=for_user) if source is not None and source in compared else None
    if run is None or source is None:
        raise NotVisibleError(f"plan {plan.number} has no earlier run of the same source to compare with")
    found = compare_manifests(run.plan, plan, source)
    return SourceDiff(
        plan,
        run,
        back_url=reverse("reviews:show-overview", args=[plan.review.number, plan.number]),
        run_url=reverse("runs:show-run", args=[run.number]),
        files=_group(found),
        more=found.more,
        holds_masked=found.holds_masked,
    )
