"""The failures at the top of a run: the object, the error, its reason, and the pods that still serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.records.enums import Outcome
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.components.server_text import ServerText, fold
from applyviz.web.runs.pages.pod_lines import list_pod_lines
from applyviz.web.runs.pages.results import OUTCOME_STYLES, say_difference
from applyviz.web.runs.pages.standing import NOT_READY, STANDING_STYLES, Standing, find_standing

SHOWN = 3
_DIFFERENCES = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """One box: the object and what happened in the title, then why, line by line."""

    look: Appearance
    title: str
    lines: tuple[str, ...]
    url: str
    server_message: str = ""


@dataclass(frozen=True, slots=True)
class Failures:
    """The first failures, and links to the others."""

    shown: tuple[Failure, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    not_attempted: str = ""


def _title(result: ObjectResult) -> str:
    name = f"{result.change.kind}/{result.change.name}"
    if result.rollout in NOT_READY and Outcome(result.outcome).is_good:
        pods = result.pods
        if "wanted" in pods:
            facts = {"name": name, "new": pods["new"], "wanted": pods["wanted"]}
            return _("%(name)s did not roll out: %(new)d of %(wanted)d new pods ready") % facts
        return _("%(name)s did not become ready") % {"name": name}
    if result.outcome == Outcome.STALE:
        return _("%(name)s changed after the plan was created") % {"name": name}
    return f"{name}: {OUTCOME_STYLES[result.outcome].word}"


def _present(run: ApplyRun, result: ObjectResult) -> Failure:
    is_rollout = result.rollout in NOT_READY and Outcome(result.outcome).is_good
    told = result.rollout_detail if is_rollout else result.detail
    text = ServerText(told) if is_rollout else fold(told)
    lines = [text.sentence] if told else []
    lines += [f"{d.get('path', '')}: {say_difference(d)}" for d in result.differences[:_DIFFERENCES]]
    more = len(result.differences) - _DIFFERENCES
    if more > 0:
        lines.append(ngettext("%(n)d more field", "%(n)d more fields", more) % {"n": more})
    if is_rollout:
        lines += list_pod_lines(result.pods)
    look = STANDING_STYLES[Standing.FAILED] if is_rollout else OUTCOME_STYLES[result.outcome]
    url = reverse("runs:show-result", args=[run.number, result.position])
    return Failure(look, _title(result), tuple(lines), url, text.message)


def present_failures(run: ApplyRun, results: Sequence[ObjectResult]) -> Failures:
    """Return the boxes of a run; `results` are as the reader may see them."""
    bad = [result for result in results if find_standing(result) is Standing.FAILED]
    left = sum(find_standing(result) is Standing.NOT_ATTEMPTED for result in results)
    text = ngettext("%(n)d object was not attempted.", "%(n)d objects were not attempted.", left) % {"n": left}
    more = tuple(
        (_title(result), reverse("runs:show-result", args=[run.number, result.position])) for result in bad[SHOWN:50]
    )
    shown = tuple(_present(run, result) for result in bad[:SHOWN])
    return Failures(shown, more, text if bad and left and run.is_finished else "")
