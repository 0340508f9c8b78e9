"""The attempts of a run: those that were, and the next one that this person could begin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.records.enums import Outcome
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.workflow import runs
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.live_values import list_hidden_results


class RetryOffer(Struct, frozen=True):
    """A retry: the button, what it would do, or everything that blocks it."""

    text: str
    note: str
    url: str
    attempt: int
    positions: frozenset[int]
    blockers: tuple[str, ...]

    @property
    def can_retry(self) -> bool:
        """Whether the page offers a retry."""
        return bool(self.positions) and not self.blockers


class AttemptRow(Struct, frozen=True):
    """One further attempt: who began it, when, for how many objects, and how the one before ended."""

    number: int
    who: str
    at: datetime
    text: str
    error: str


def _describe(results: Sequence[ObjectResult]) -> tuple[str, str]:
    count = len(results)
    text = ngettext("Retry %(n)d object", "Retry %(n)d objects", count) % {"n": count}
    waits = sum(result.outcome == Outcome.VERIFIED for result in results)
    notes = [
        ngettext("sends %(n)d object again", "sends %(n)d objects again", count - waits) % {"n": count - waits}
        if count > waits
        else "",
        ngettext("waits again for %(n)d rollout", "waits again for %(n)d rollouts", waits) % {"n": waits}
        if waits
        else "",
    ]
    sentence = _("The next attempt of this run: %(what)s, after checking each for the approved effect.")
    return text, sentence % {"what": ", ".join(filter(None, notes))}


def present_retry(run: ApplyRun, person: Person) -> RetryOffer | None:
    """Return what can be retried of a failed run as its reader sees it; None when nothing can."""
    found = runs.list_retryable(run)
    if not found:
        return None
    text, note = _describe(found)
    return RetryOffer(
        text=text,
        note=note,
        url=reverse("runs:retry-run", args=[run.number]),
        attempt=run.attempt,
        positions=frozenset(result.position for result in found),
        blockers=sentences.describe_all(runs.find_retry_blockers(run, for_user=person)),
    )


def present_attempts(run: ApplyRun) -> tuple[AttemptRow, ...]:
    """Return the further attempts of a run; objects that are hidden from the reader are not counted."""
    rows = runs.list_attempts(run)
    if not rows:
        return ()
    hidden = {str(result.position) for result in list_hidden_results(run)}
    attempts = []
    for row in rows:
        count = len(row.before.keys() - hidden)
        text = ngettext("%(n)d object", "%(n)d objects", count) % {"n": count} if count else _("objects")
        attempts.append(AttemptRow(row.number, row.requested_by.get_username(), row.created_at, text, row.error))
    return tuple(attempts)
