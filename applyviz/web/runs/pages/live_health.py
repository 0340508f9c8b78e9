"""The live objects of a run: those that are not ready first, each with its pods and its last events.

Messages come from the cluster; the worker left out those that may repeat a Secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz import clock
from applyviz.engine.readiness.pods import PodCounts
from applyviz.engine.readiness.status import State
from applyviz.records.models import ApplyRun, ObjectChange
from applyviz.web.components.badges import Appearance
from applyviz.workflow.live.run_health import LiveEvent, LivePod, ObjectHealth, RunHealth
from applyviz.workflow.plans.live_values import list_rows

STATE_STYLES: dict[State, Appearance] = {
    State.FAILED: Appearance("×", gettext_lazy("failed"), "remove"),  # noqa: RUF001 the cross is drawn
    State.IN_PROGRESS: Appearance("◔", gettext_lazy("not ready yet"), "change"),
    State.TERMINATING: Appearance("−", gettext_lazy("is being deleted"), "warn"),  # noqa: RUF001 the minus sign is drawn
    State.UNKNOWN: Appearance("?", gettext_lazy("unknown"), "warn"),
    State.CURRENT: Appearance("✓", gettext_lazy("ready"), "add"),
}
_ORDER = list(STATE_STYLES)
SOON, LATER = 5, 30
"""Seconds until an open page asks again: while something is not ready, and when everything is."""


class PodRow(Struct, frozen=True):
    """A pod that is not ready, and why in a few words; `message` is the text of the cluster."""

    name: str
    why: str
    message: str


class LiveObjectRow(Struct, frozen=True):
    """One live object; `notes` say what could not be read. A ready object has its last event only."""

    kind: str
    namespace: str
    name: str
    url: str
    style: Appearance
    message: str
    pods_text: str
    pods: tuple[PodRow, ...]
    more_pods: int
    events: tuple[LiveEvent, ...]
    notes: tuple[str, ...]


class LivePage(Struct, frozen=True):
    """The live objects of a run; `problem` says why none could be read, `note` what the reader has to know."""

    rows: tuple[LiveObjectRow, ...]
    summary: str
    problem: str
    left: int
    note: str
    at: datetime
    seconds: int


def _describe_pod(pod: LivePod) -> PodRow:
    parts = [pod.reason or (pod.phase if pod.phase not in ("", "Running") else _("not ready"))]
    if pod.container:
        parts.append(_("container %(name)s") % {"name": pod.container})
    if pod.restarts:
        text = ngettext("%(n)d restart", "%(n)d restarts", pod.restarts) % {"n": pod.restarts}
        parts.append(_("%(text)s, last end: %(reason)s") % {"text": text, "reason": pod.ended} if pod.ended else text)
    return PodRow(pod.name, " · ".join(parts), pod.message)


def _describe_counts(health: ObjectHealth) -> str:
    counts: PodCounts | None = health.counts
    if counts is not None:
        text = ngettext("%(new)d of %(wanted)d new pod ready", "%(new)d of %(wanted)d new pods ready", counts.wanted)
        return text % {"new": counts.new, "wanted": counts.wanted}
    total = health.ready + health.not_ready
    text = ngettext("%(n)d of %(all)d pod ready", "%(n)d of %(all)d pods ready", total)
    return text % {"n": health.ready, "all": total} if total else ""


def _describe_unread(unread: Mapping[str, int]) -> tuple[str, ...]:
    """Return what could not be read, with what to do about a missing permission."""
    what = {"object": _("The object"), "pods": _("The pods"), "events": _("The events")}
    verb = {"object": "get", "pods": "list pods", "events": "list events"}
    notes = []
    for name, status in unread.items():
        if status == 403:
            text = _("%(what)s could not be read: this needs the permission %(verb)s in the cluster.")
            notes.append(text % {"what": what[name], "verb": verb[name]})
        else:
            text = _("%(what)s could not be read (%(status)s).")
            notes.append(text % {"what": what[name], "status": status if status > 0 else _("no answer")})
    return tuple(notes)


def _present_object(run: ApplyRun, change: ObjectChange, health: ObjectHealth) -> LiveObjectRow:
    return LiveObjectRow(
        kind=change.kind,
        namespace=change.namespace,
        name=change.name,
        url=reverse("runs:show-result", args=[run.number, health.position]),
        style=STATE_STYLES[health.state],
        message=health.message,
        pods_text=_describe_counts(health),
        pods=tuple(map(_describe_pod, health.pods)),
        more_pods=max(0, health.not_ready - len(health.pods)),
        events=health.events if health.state is not State.CURRENT or health.not_ready else health.events[:1],
        notes=_describe_unread(health.unread),
    )


def _summarize(found: RunHealth) -> str:
    if not found.objects:
        return ""
    ready = sum(one.state is State.CURRENT for one in found.objects)
    facts = {"n": ready, "all": len(found.objects)}
    text = ngettext("%(n)d of %(all)d object is ready", "%(n)d of %(all)d objects are ready", facts["all"]) % facts
    waiting = sum(one.not_ready for one in found.objects)
    pods = ngettext("%(n)d pod is not ready", "%(n)d pods are not ready", waiting) % {"n": waiting}
    return f"{text} · {pods}" if waiting else text


def present_live(run: ApplyRun, found: RunHealth) -> LivePage:
    """Return the objects, those that are not ready first."""
    rows = {row.position: row for row in list_rows(run.plan)} if found.objects else {}
    ordered = sorted(found.objects, key=lambda one: (_ORDER.index(one.state), not one.not_ready, one.position))
    is_calm = bool(ordered) and all(one.state is State.CURRENT and not one.not_ready for one in ordered)
    cluster = run.plan.target.cluster
    is_without_pods = cluster.is_sandbox and not cluster.simulates_workloads
    return LivePage(
        rows=tuple(_present_object(run, rows[one.position], one) for one in ordered if one.position in rows),
        summary=_summarize(found),
        problem=found.problem,
        left=found.left,
        note=_("This sandbox does not simulate workloads: nothing creates their pods.") if is_without_pods else "",
        at=clock.now(),
        seconds=SOON if not is_calm and not found.problem else LATER,
    )
