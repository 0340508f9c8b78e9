"""Read model of a review that another tool applies: the forecast, and the verification after the tool ran."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Applier, VerificationResult, VerificationState
from applyviz.records.models import Plan, Verification
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pages.plan_names import is_being_planned
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.live import external_apply
from applyviz.workflow.plans import plan_details
from applyviz.workflow.plans.live_values import WITHHELD, hidden_positions, list_rows

RESULT_STYLES: dict[str, Appearance] = {
    VerificationResult.DIFFERS: Appearance("≠", VerificationResult.DIFFERS.label, "warn"),
    VerificationResult.UNKNOWN: Appearance("?", VerificationResult.UNKNOWN.label, "warn"),
    VerificationResult.NOT_YET: Appearance("·", VerificationResult.NOT_YET.label, "calm"),
    VerificationResult.AS_REVIEWED: Appearance("✓", VerificationResult.AS_REVIEWED.label, "add"),
    WITHHELD: OBJECT_STYLES[Operation.WITHHELD],
}


class VerifiedRow(Struct, frozen=True):
    """One verified object."""

    style: Appearance
    kind: str
    name: str
    url: str
    detail: str
    differences: tuple[tuple[str, str, str], ...]


class Watch(Struct, frozen=True):
    """The panel of such a review."""

    tool: str
    warnings: tuple[str, ...]
    is_looking: bool
    poll_url: str
    verify_url: str
    blocker: str
    at: datetime | None
    by: str
    error: str
    counts: tuple[tuple[Appearance, int], ...]
    findings: tuple[VerifiedRow, ...]


def _warn(plan: Plan, tool: str) -> tuple[str, ...]:
    found = plan_details.read_forecast(plan)
    if found is None:
        return ()
    warnings = []
    managers = ", ".join(found.managers)
    if found.conflicts:
        objects = ngettext("%(n)d object", "%(n)d objects", found.conflicting) % {"n": found.conflicting}
        warnings.append(
            ngettext(
                "The next run of %(tool)s will conflict on %(count)d field in %(objects)s, set by %(managers)s.",
                "The next run of %(tool)s will conflict on %(count)d fields in %(objects)s, set by %(managers)s.",
                found.conflicts,
            )
            % {"tool": tool, "count": found.conflicts, "objects": objects, "managers": managers}
        )
    if found.reverted:
        heals = plan.review.applied_by in (Applier.ARGO, Applier.FLUX)
        text = (
            ngettext(
                "%(tool)s self-heal will revert %(count)d field set by %(managers)s.",
                "%(tool)s self-heal will revert %(count)d fields set by %(managers)s.",
                found.reverted,
            )
            if heals
            else ngettext(
                "The next run of %(tool)s will revert %(count)d field set by %(managers)s.",
                "The next run of %(tool)s will revert %(count)d fields set by %(managers)s.",
                found.reverted,
            )
        )
        warnings.append(text % {"tool": tool, "count": found.reverted, "managers": managers})
    return tuple(warnings)


def _present_findings(plan: Plan, results: Sequence[JSONObject]) -> tuple[VerifiedRow, ...]:
    rows = {row.position: row for row in list_rows(plan)}
    order = list(RESULT_STYLES)
    found = []
    for result in sorted(results, key=lambda r: (order.index(r["verdict"]), r["position"])):
        row = rows[result["position"]]
        differences = tuple((d["path"], d["promised"], d["got"]) for d in result["differences"])
        url = link_change(plan, row.position)
        style = RESULT_STYLES[result["verdict"]]
        name = f"{row.namespace}/{row.name}" if row.namespace else row.name
        found.append(VerifiedRow(style, row.kind, name, url, result["detail"], differences))
    return tuple(found)


def _count(results: Sequence[JSONObject]) -> tuple[tuple[Appearance, int], ...]:
    verdicts = [result["verdict"] for result in results]
    return tuple((style, verdicts.count(verdict)) for verdict, style in RESULT_STYLES.items() if verdict in verdicts)


def present_watch(plan: Plan, *, for_user: Person) -> Watch | None:
    """Return the panel; None for a review that applyviz applies itself."""
    if not plan.review.applied_by:
        return None
    tool = plan.review.get_applied_by_display()
    looks = Verification.objects.filter(plan=plan).select_related("requested_by")
    latest, done = looks.first(), looks.filter(state=VerificationState.DONE).first()
    is_looking = latest is not None and latest.state == VerificationState.WAITING
    blockers = external_apply.find_verify_blockers(plan, for_user=for_user)
    failed = latest is not None and latest.state == VerificationState.FAILED
    address, is_planning = [plan.review.number, plan.number], is_being_planned(plan)
    results = external_apply.show_results(done.results, hidden_positions(plan)) if done else []
    return Watch(
        tool=tool,
        warnings=_warn(plan, tool),
        is_looking=is_looking,
        poll_url=reverse("reviews:show-watch", args=address) if is_looking or is_planning else "",
        verify_url="" if blockers else reverse("reviews:verify-plan", args=address),
        blocker="" if is_looking or is_planning or not blockers else _(blockers[0]),
        at=done.finished_at if done else None,
        by=done.requested_by.get_username() if done else "",
        error=latest.error if latest is not None and failed else "",
        counts=_count(results),
        findings=_present_findings(plan, results),
    )
