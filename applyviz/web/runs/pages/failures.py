"""The failures at the top of a run: the object, the error, its reason, and the pods that still serve."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.records.enums import Outcome
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.components.server_text import ServerText, fold
from applyviz.web.runs.pages.object_states import (
    NOT_AS_APPROVED,
    OBJECT_STATE_STYLES,
    ObjectState,
    find_object_state,
)
from applyviz.web.runs.pages.pod_lines import list_pod_lines
from applyviz.web.runs.pages.results import OUTCOME_STYLES, describe_difference
from applyviz.web.runs.pages.retries import RetryOffer
from applyviz.workflow.plans.revert import find_lost
from applyviz.workflow.runs.attempts import NOT_READY

SHOWN, MOST = 3, 50
_DIFFERENCES = 3


class Failure(Struct, frozen=True):
    """One box: the object and what happened in the title, then why, line by line."""

    style: Appearance
    title: str
    lines: tuple[str, ...]
    url: str
    server_message: str = ""
    retry: RetryOffer | None = None
    position: int = 0
    restore_url: str = ""


class FailureSummary(Struct, frozen=True):
    """The first failures, and how many others there are; of these, links to the first, and to the list of all."""

    shown: tuple[Failure, ...] = ()
    more: int = 0
    links: tuple[tuple[str, str], ...] = ()
    all_url: str = ""
    not_attempted: str = ""


def _title(result: ObjectResult, *, is_lost: bool = False) -> str:
    name = f"{result.change.kind}/{result.change.name}"
    if result.rollout in NOT_READY and Outcome(result.outcome).is_good:
        pods = result.pods
        if "wanted" in pods:
            facts = {"name": name, "new": pods["new"], "wanted": pods["wanted"]}
            return _("%(name)s did not roll out: %(new)d of %(wanted)d new pods ready") % facts
        return _("%(name)s did not become ready") % {"name": name}
    if is_lost:
        return _("%(name)s was deleted but not re-created") % {"name": name}
    if result.outcome == Outcome.STALE:
        return _("%(name)s would no longer change as approved") % {"name": name}
    return f"{name}: {OUTCOME_STYLES[result.outcome].word}"


def _present(run: ApplyRun, result: ObjectResult, retry: RetryOffer | None, *, is_lost: bool, undo_url: str) -> Failure:
    is_rollout = result.rollout in NOT_READY and Outcome(result.outcome).is_good
    detail = result.rollout_detail if is_rollout else result.detail
    text = ServerText(detail) if is_rollout else fold(detail)
    lines = [text.sentence] if detail else []
    lines += [f"{d.get('path', '')}: {describe_difference(d)}" for d in result.differences[:_DIFFERENCES]]
    more = len(result.differences) - _DIFFERENCES
    if more > 0:
        lines.append(ngettext("%(n)d more field", "%(n)d more fields", more) % {"n": more})
    if is_rollout:
        lines += list_pod_lines(result.pods)
    style = OBJECT_STATE_STYLES[ObjectState.FAILED] if is_rollout else OUTCOME_STYLES[result.outcome]
    url = reverse("runs:show-result", args=[run.number, result.position])
    offered = retry if retry is not None and retry.can_retry and result.position in retry.positions else None
    title, restore_url = _title(result, is_lost=is_lost), undo_url if is_lost else ""
    return Failure(style, title, tuple(lines), url, text.message, offered, result.position, restore_url)


def present_failures(
    run: ApplyRun, results: Sequence[ObjectResult], retry: RetryOffer | None = None, *, undo_url: str = ""
) -> FailureSummary:
    """Return the boxes of a run; `results` are as the reader may see them, `retry` is what can be retried.

    - `undo_url`: where lost objects can be restored; "" if this person cannot, or not now.
    """
    lost = {result.pk for result in find_lost(results)}
    bad = [result for result in results if find_object_state(result) in NOT_AS_APPROVED]
    bad.sort(key=lambda result: result.pk not in lost)
    left = sum(find_object_state(result) is ObjectState.NOT_ATTEMPTED for result in results)
    text = ngettext("%(n)d object was not attempted.", "%(n)d objects were not attempted.", left) % {"n": left}
    links = tuple(
        (_title(result), reverse("runs:show-result", args=[run.number, result.position])) for result in bad[SHOWN:MOST]
    )
    shown = tuple(_present(run, one, retry, is_lost=one.pk in lost, undo_url=undo_url) for one in bad[:SHOWN])
    return FailureSummary(
        shown,
        len(bad) - len(shown),
        links,
        f"{reverse('runs:show-run', args=[run.number])}?rows=all#objects" if len(bad) > MOST else "",
        text if bad and left and run.is_finished else "",
    )
