"""Read model of one object of a run: the outcome, and every request with its answer, masked."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome, OwnerCheck, RolloutState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.object_links import link_change, link_object
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.components.server_text import fold
from applyviz.web.runs.pages.pod_lines import list_pod_lines
from applyviz.web.runs.pages.reads import ReadLine, choose_tone, present_reads
from applyviz.web.runs.pages.time_axis import format_clock
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans.live_values import WITHHELD, list_results

OUTCOME_STYLES: dict[str, Appearance] = {
    Outcome.WAITING: Appearance("·", Outcome.WAITING.label, "calm"),
    Outcome.APPLYING: Appearance("▸", Outcome.APPLYING.label, "change"),
    Outcome.VERIFIED: Appearance("✓", Outcome.VERIFIED.label, "add"),
    Outcome.DELETED: Appearance("✓", Outcome.DELETED.label, "add"),
    Outcome.DIFFERS: Appearance("≠", Outcome.DIFFERS.label, "warn"),
    Outcome.UNCHANGED: Appearance("=", Outcome.UNCHANGED.label, "calm"),
    Outcome.REFUSED: Appearance("!", Outcome.REFUSED.label, "warn"),
    Outcome.STALE: Appearance("!", Outcome.STALE.label, "warn"),
    Outcome.FAILED: Appearance("×", Outcome.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    Outcome.UNKNOWN: Appearance("?", Outcome.UNKNOWN.label, "warn"),
    Outcome.SKIPPED: Appearance("−", Outcome.SKIPPED.label, "calm"),  # noqa: RUF001 the minus sign is drawn
    Outcome.LEFT_OUT: Appearance("−", Outcome.LEFT_OUT.label, "warn"),  # noqa: RUF001 the minus sign is drawn
    WITHHELD: OBJECT_STYLES[Operation.WITHHELD],
}
ROLLOUT_STYLES: dict[RolloutState, Appearance] = {
    RolloutState.WAITING: Appearance("◔", RolloutState.WAITING.label, "change"),
    RolloutState.READY: Appearance("✓", RolloutState.READY.label, "add"),
    RolloutState.FAILED: Appearance("×", RolloutState.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    RolloutState.LATE: Appearance("!", RolloutState.LATE.label, "warn"),
    RolloutState.GIVEN_UP: Appearance("−", RolloutState.GIVEN_UP.label, "calm"),  # noqa: RUF001 the minus sign is drawn
}


class RequestExchange(Struct, frozen=True):
    """One request of the journal with its answer, and the reads before it."""

    entry: JournalEntry
    tone: str
    took: str
    request: str
    answer: str
    reads: tuple[ReadLine, ...]


class ResultPane(Struct, frozen=True):
    """The pane of one object in a run; `later_reads` are those after its last request."""

    style: Appearance
    name: str
    kind: str
    namespace: str
    detail: str
    took: str
    run_url: str
    change_url: str
    life_url: str
    differences: tuple[Notice, ...]
    exchanges: tuple[RequestExchange, ...]
    rollout: Appearance | None = None
    rollout_detail: str = ""
    attempts: str = ""
    owners: str = ""
    pod_lines: tuple[str, ...] = ()
    server_message: str = ""
    later_reads: tuple[ReadLine, ...] = ()


def format_duration(start: datetime | None, end: datetime | None, *, pause: timedelta = timedelta()) -> str:
    """Return the duration without a pause as text; "" while it is unknown."""
    if start is None or end is None:
        return ""
    seconds = (end - start - pause).total_seconds()
    if seconds >= 60:
        return format_clock(seconds)
    return _("%(time).0f ms") % {"time": seconds * 1000} if seconds < 1 else _("%(time).1f s") % {"time": seconds}


def _write(value: JSONValue) -> str:
    return "" if value is None else render_yaml(value)


def _present_exchange(entry: JournalEntry, before: JournalEntry | None) -> RequestExchange:
    return RequestExchange(
        entry,
        tone=choose_tone(entry.status),
        took=format_duration(entry.sent_at, entry.answered_at),
        request=_write(entry.request),
        answer=_write(entry.answer),
        reads=present_reads(entry.reads, before),
    )


def _present_differences(result: ObjectResult) -> tuple[Notice, ...]:
    style = OUTCOME_STYLES[result.outcome]
    return tuple(Notice(style, str(one.get("path", "")), describe_difference(one)) for one in result.differences)


def describe_difference(one: dict[str, JSONValue]) -> str:
    """Return the expected and the actual value of one field; both are masked."""
    nothing = _("nothing")
    if "reviewed" in one:
        texts = {"then": one["reviewed"] or nothing, "now": one.get("live") or nothing}
        return _("%(then)s when reviewed, %(now)s now") % texts
    texts = {"promised": one.get("promised") or nothing, "got": one.get("got") or nothing}
    return _("expected %(promised)s, got %(got)s") % texts


def describe_owner_check(result: ObjectResult) -> str:
    """Return whose fields the live object states as promised; "" unless all owners were verified."""
    if result.owners.get("state") != OwnerCheck.VERIFIED:
        return ""
    each = (
        ngettext("%(owner)s owns %(n)d field", "%(owner)s owns %(n)d fields", number) % {"owner": owner, "n": number}
        for owner, number in result.owners.get("fields", {}).items()
    )
    return _("Field owners verified: %(owners)s.") % {"owners": ", ".join(each)}


def describe_attempts(result: ObjectResult, sent: int, parts: int) -> str:
    """Return how often a request was repeated, and whether its addon tried it again; "" when each was sent once."""
    again = sent - parts
    retries = ngettext("%(count)d retry", "%(count)d retries", again) % {"count": again} if again else ""
    return " · ".join(filter(None, (retries, _("addon tried twice") if result.addon_attempt > 1 else "")))


def present_result(run: ApplyRun, position: int) -> ResultPane:
    """Return one object of a run with its journal."""
    found = list_results(run, Q(position=position))
    if not found:
        raise NotVisibleError(f"run {run.number} has no object {position}")
    (result,), plan = found, run.plan
    change = result.change
    folded = fold(result.detail)
    journal = [] if result.outcome == WITHHELD else list(result.journal.defer("sealed_request", "sealed_answer"))
    return ResultPane(
        style=OUTCOME_STYLES[result.outcome],
        name=change.name,
        kind=change.kind,
        namespace=change.namespace,
        detail=folded.sentence,
        server_message=folded.message,
        took=format_duration(result.started_at, result.finished_at),
        run_url=reverse("runs:show-run", args=[run.number]),
        change_url=link_change(plan, change.position),
        life_url=link_object(plan.target.cluster.slug, change.group, change.kind, change.namespace, change.name),
        differences=_present_differences(result),
        exchanges=tuple(map(_present_exchange, journal, [None, *journal])),
        later_reads=present_reads(result.reads, journal[-1] if journal else None),
        rollout=ROLLOUT_STYLES[RolloutState(result.rollout)] if result.rollout else None,
        rollout_detail=result.rollout_detail,
        attempts=describe_attempts(result, len(journal), len({entry.part for entry in journal})),
        owners=describe_owner_check(result),
        pod_lines=list_pod_lines(result.pods),
    )
