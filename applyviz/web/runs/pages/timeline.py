"""The timeline of a run: a lane per step, a bar per request, and a row per workload that is watched.

A strong bar is a request, from the journal; a soft one lasts until the workload is rolled out, hatched while no pod of
it is ready. The list below the picture holds the same facts as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Max, Min
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import RolloutState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult, RolloutSample
from applyviz.web.runs.pages.object_states import (
    MOVING,
    NOT_AS_APPROVED,
    OBJECT_STATE_STYLES,
    ObjectState,
    Outage,
    find_object_state,
    find_outages,
)
from applyviz.web.runs.pages.results import format_duration
from applyviz.web.runs.pages.time_axis import Tick, TimeAxis, format_clock

_TOP, _LANE, _ROW, _BAR = 26, 26, 20, 14
_MOST_ROWS, _SLOWEST = 40, 20
_MOST_BARS = 60
_LONGEST_NAME = 26
_CLOSE, _SHORT, _ROOM = 72.0, 18, 24.0
_LAST = "99.40%"
_LETTER = 0.85  # percent of the width of the narrowest picture
_OPEN_ENDED = (RolloutState.WAITING, RolloutState.GIVEN_UP)
Span = tuple[datetime, datetime | None]


class TimelineBar(Struct, frozen=True):
    """One rectangle: a request (`rq`), a rollout (`ro`, `rok`, `rbad`), an outage (`down`), or what waits (`wait`)."""

    css: str
    x: str
    y: str
    width: str
    height: str
    title: str = ""
    url: str = ""


class Words(Struct, frozen=True):
    """A few words in the picture, with a mark before them; `is_left` ends them at `x`."""

    x: str
    y: str
    text: str
    mark: str = ""
    tone: str = ""
    is_left: bool = False
    css: str = ""


class Wave(Struct, frozen=True):
    """One step for readers of a small screen: when it ran, on the axis, and what became of its objects."""

    name: str
    note: str
    tone: str
    x: str
    width: str


class RunTimeline(Struct, frozen=True):
    """The whole picture; all places are percentages or pixels, written as texts."""

    height: str
    bottom: str
    names: tuple[Words, ...]
    lines: tuple[str, ...]
    bars: tuple[TimelineBar, ...]
    words: tuple[Words, ...]
    ticks: tuple[Tick, ...]
    axis: TimeAxis
    now: Tick | None
    waves: tuple[Wave, ...]
    label: str


def read_spans(run: ApplyRun) -> dict[int, Span]:
    """Return when the first request of each object was sent and the last one answered; asks the database once."""
    entries = JournalEntry.objects.filter(result__run=run).order_by().values("result")
    found = entries.annotate(first=Min("sent_at"), last=Max("answered_at"))
    return {row["result"]: (row["first"], row["last"]) for row in found}


def read_samples(run: ApplyRun) -> dict[int, list[RolloutSample]]:
    """Return the samples of each object in their order; there are at most some hundred in a run."""
    found: dict[int, list[RolloutSample]] = {}
    for sample in RolloutSample.objects.filter(result__run=run).order_by("id"):
        found.setdefault(sample.result_id, []).append(sample)
    return found


def name_step(number: int, kinds: Sequence[str]) -> str:
    """Return the title of a step: its number among those that are listed, and the kinds that it writes."""
    ordered = sorted(set(kinds))
    for shown in range(len(ordered), 0, -1):
        text = ", ".join(ordered[:shown])
        more = f" +{len(ordered) - shown}" if shown < len(ordered) else ""
        if len(text) + len(more) <= _LONGEST_NAME or shown == 1:
            return f"{number} {text}{more}"
    return str(number)


def _describe_counts(results: Sequence[ObjectResult]) -> tuple[str, str, str]:
    """Return mark, text and tone for the object states of a step, the worst state first."""
    counts = Counter(find_object_state(result) for result in results)
    found = [state for state in ObjectState if counts[state]]
    text = " · ".join(f"{counts[state]} {OBJECT_STATE_STYLES[state].word}" for state in found)
    style = OBJECT_STATE_STYLES[found[0]]
    return style.glyph, text, style.tone


class _Picture:
    """Draws from top to bottom."""

    def __init__(
        self,
        run: ApplyRun,
        spans: Mapping[int, Span],
        samples: Mapping[int, Sequence[RolloutSample]],
        axis: TimeAxis,
        start: datetime,
        now: datetime,
    ) -> None:
        self._run, self._spans, self._samples = run, spans, samples
        self._axis, self._start, self._now = axis, start, now
        self.y = _TOP
        self.names: list[Words] = []
        self.lines: list[str] = []
        self.bars: list[TimelineBar] = []
        self.words: list[Words] = []

    def _at(self, moment: datetime) -> float:
        return (moment - self._start).total_seconds()

    def _link(self, result: ObjectResult) -> str:
        return reverse("runs:show-result", args=[self._run.number, result.position])

    def _find_request(self, result: ObjectResult) -> tuple[float, float] | None:
        span = self._spans.get(result.pk)
        if span is None:
            return None
        return self._at(span[0]), self._at(span[1] or self._now)

    def draw_lane(self, name: str, results: Sequence[ObjectResult]) -> None:
        """One line for a step: its requests one under the other, and what became of them."""
        middle = str(self.y + 17)
        self.names.append(Words("0", middle, name, css="wv"))
        mark, text, tone = _describe_counts(results)
        drawn = [(r, span) for r in results if (span := self._find_request(r))]
        room = (_LANE - 8) / max(1, len(drawn[:_MOST_BARS]))
        first, end = 100.0, 0.0
        for n, (result, (begin, until)) in enumerate(drawn[:_MOST_BARS]):
            y, height = f"{self.y + 4 + n * room:.1f}", f"{max(1.5, min(room - 0.5, _BAR)):.1f}"
            title = f"{result.change.kind}/{result.change.name}"
            width = self._axis.width(begin, until)
            self.bars.append(TimelineBar("rq", self._axis.x(begin), y, width, height, title, self._link(result)))
            first, end = min(first, self._axis.scale(begin)), max(end, self._axis.scale(until))
        if drawn:
            self._label_rollout(end, middle, text, mark, tone, left=first)
        elif all(find_object_state(result) is ObjectState.NOT_ATTEMPTED for result in results):
            self._draw_not_attempted(middle, text)
        else:
            self._label_rollout(end, middle, text, mark, tone)
        self.y += _LANE
        self.lines.append(str(self.y))

    def _label_rollout(
        self, end: float, y: str, text: str, mark: str, tone: str, css: str = "", *, left: float | None = None
    ) -> None:
        """Words after what ends there; long ones that find no room there stand before `left`, where it begins.

        Without room on either side they end with the picture, over the bars.
        """
        is_left = left is not None and left > _ROOM and end > _CLOSE and len(text) > _SHORT and self._run.is_finished
        x = f"{(left or 0.0) - 0.6 if is_left else end + 0.6:.2f}%"
        if not is_left and end + 0.6 + _LETTER * (len(text) + 2) > 100:
            x, is_left = _LAST, True
        self.words.append(Words(x, y, text, mark, tone, is_left, css))

    def measure_wave(self, name: str, results: Sequence[ObjectResult]) -> Wave:
        """Return from its first request to its last rollout; no width for a step without a request."""
        mark, note, tone = _describe_counts(results)
        sent = [(r, span) for r in results if (span := self._find_request(r))]
        begin = min((first for _result, (first, _last) in sent), default=0.0)
        end = max((max(last, self._end_of(result)) for result, (_first, last) in sent), default=begin)
        moments = (self._start + timedelta(seconds=at) for at in (begin, end))
        took = f" · {format_duration(*moments)}" if sent else ""
        width = self._axis.full_width(begin, end) if sent else ""
        return Wave(name, f"{mark} {note}{took}", tone, self._axis.full_x(begin), width)

    def draw_workloads(self, name: str, results: Sequence[ObjectResult]) -> None:
        """A head and one row for each workload that is watched: failed ones first, then those that end last."""
        self.names.append(Words("0", str(self.y + 17), name, css="wv"))
        mark, text, tone = _describe_counts(results)
        self.words.append(Words("0.6%", str(self.y + 17), text, mark, tone))
        self.y += _LANE - 2
        shown = self._choose(results)
        for result in shown:
            self._draw_workload(result)
        listed = {result.pk for result in shown}
        more = Counter(find_object_state(result) for result in results if result.pk not in listed)
        for state in filter(more.get, ObjectState):
            text = _("%(count)d more %(state)s") % {"count": more[state], "state": OBJECT_STATE_STYLES[state].word}
            self.names.append(Words("14", str(self.y + 14), text, css="more"))
            self.y += _ROW
        self.y += 4
        self.lines.append(str(self.y))

    def _choose(self, results: Sequence[ObjectResult]) -> list[ObjectResult]:
        def rank(result: ObjectResult) -> tuple[bool, bool, float]:
            state = find_object_state(result)
            return state not in NOT_AS_APPROVED, state not in MOVING, -self._end_of(result)

        ordered = sorted(results, key=rank)
        if len(ordered) <= _MOST_ROWS:
            return ordered
        moving = [r for r in ordered if find_object_state(r) in (*NOT_AS_APPROVED, *MOVING)]
        return [*moving, *[r for r in ordered if r not in moving][:_SLOWEST]]

    def _end_of(self, result: ObjectResult) -> float:
        if result.rollout and result.rollout != RolloutState.WAITING and result.rollout_at:
            return self._at(result.rollout_at)
        return self._at(self._now) if result.rollout else 0.0

    def _draw_workload(self, result: ObjectResult) -> None:
        self.names.append(Words("14", str(self.y + 14), result.change.name, css="nm"))
        request = self._find_request(result)
        if request is None:
            return self._draw_waiting(result)
        begin, until = request
        y, title, url = str(self.y + 3), f"{result.change.kind}/{result.change.name}", self._link(result)
        end = max(until, self._end_of(result)) if result.rollout else until
        if result.rollout:
            css = "rok" if result.rollout == RolloutState.READY else "rbad"
            css = "ro" if result.rollout in _OPEN_ENDED else css
            width = self._axis.width(until, end)
            self.bars.append(TimelineBar(css, self._axis.x(until), y, width, str(_BAR), title, url))
            self._draw_outages(result, y)
        self.bars.append(
            TimelineBar("rq", self._axis.x(begin), y, self._axis.width(begin, until), str(_BAR), title, url)
        )
        self._label(result, begin, until, end)
        self.y += _ROW
        return None

    def _draw_not_attempted(self, y: str, text: str) -> None:
        """Draw a box after the present moment; of a finished run, only words at the end of the picture."""
        if self._run.is_finished:
            style = OBJECT_STATE_STYLES[ObjectState.NOT_ATTEMPTED]
            self.words.append(Words(_LAST, y, text, style.glyph, style.tone, is_left=True))
            return
        begin = self._axis.scale(self._at(self._now))
        self.bars.append(TimelineBar("wait", f"{begin + 1:.2f}%", str(self.y + 5), "9.5rem", "16"))
        self.words.append(Words(f"{begin + 1.6:.2f}%", y, text))

    def _draw_waiting(self, result: ObjectResult) -> None:
        state, y = find_object_state(result), str(self.y + 14)
        style, is_never = OBJECT_STATE_STYLES[state], self._run.is_finished and state is ObjectState.NOT_ATTEMPTED
        x = _LAST if is_never else "0.6%"
        self.words.append(Words(x, y, str(style.word), style.glyph, style.tone, is_left=is_never))
        self.y += _ROW

    def _draw_outages(self, result: ObjectResult, y: str) -> None:
        for outage in list_outages(result, self._samples.get(result.pk, ()), self._now):
            begin, end = self._at(outage.start), self._at(outage.end)
            title = _("no pod ready for %(seconds)d s") % {"seconds": outage.seconds}
            self.bars.append(
                TimelineBar("down", self._axis.x(begin), y, self._axis.width(begin, end, least=0.1), str(_BAR), title)
            )

    def _label(self, result: ObjectResult, begin: float, until: float, end: float) -> None:
        """Words beside the bars; the reason of a failure stands in its pale bar, unless that is hatched."""
        state, y = find_object_state(result), str(self.y + 14)
        left = self._axis.scale(begin)
        outages = list_outages(result, self._samples.get(result.pk, ()), self._now)
        pods = f"{result.pods['new']}/{result.pods['wanted']}" if "wanted" in result.pods else ""
        style = OBJECT_STATE_STYLES[state]
        parts = [pods]
        problems = result.pods.get("problems") or []
        if state is ObjectState.FAILED:
            reason = problems[0]["reason"] if problems else str(RolloutState(result.rollout).label)
            at, text = self._axis.scale(end if outages else until), " · ".join(filter(None, (pods, reason)))
            self._label_rollout(at, y, text, style.glyph, style.tone, "in", left=left)
            return
        if result.rollout == RolloutState.GIVEN_UP:
            parts.append(str(RolloutState.GIVEN_UP.label))
        elif state is ObjectState.VERIFIED and result.rollout:
            parts.append(format_clock(end - until))
        down = sum(outage.seconds for outage in outages)
        if down >= 1:
            parts[-1] = _("down %(seconds)d s") % {"seconds": down}
        mark = "" if result.rollout in _OPEN_ENDED else style.glyph
        text = " · ".join(filter(None, parts))
        self._label_rollout(self._axis.scale(end), y, text, mark, style.tone, "in", left=left)


def list_outages(result: ObjectResult, samples: Sequence[RolloutSample], now: datetime) -> tuple[Outage, ...]:
    """Return when no pod of a workload was ready, until its rollout ended."""
    until = now if result.rollout == RolloutState.WAITING or result.rollout_at is None else result.rollout_at
    is_new = result.change.operation in (Operation.CREATE, Operation.REPLACE)
    return find_outages(samples, until, is_new=is_new)


def _group(results: Sequence[ObjectResult]) -> list[list[ObjectResult]]:
    """Steps that write something, in their order; unchanged and hidden objects share a lane at the end."""
    steps: dict[int, list[ObjectResult]] = {}
    calm: dict[ObjectState, list[ObjectResult]] = {}
    for result in results:
        state = find_object_state(result)
        if state in (ObjectState.UNCHANGED, ObjectState.HIDDEN):
            calm.setdefault(state, []).append(result)
        else:
            steps.setdefault(result.step, []).append(result)
    return [members for _step, members in sorted(steps.items())]


def _make_axis(
    run: ApplyRun, results: Sequence[ObjectResult], spans: Mapping[int, Span], now: datetime
) -> tuple[datetime, TimeAxis]:
    """Return the start of the picture and its axis; a run in progress leaves room at the end."""
    start = min([first for first, _last in spans.values()])
    start = min(start, run.started_at) if run.started_at and (start - run.started_at).total_seconds() < 1 else start
    answered = [(last or now) for _first, last in spans.values()]
    ends = [r.rollout_at for r in results if r.rollout_at and r.rollout]
    end = (max([*answered, *ends, *([] if run.is_finished else [now])]) - start).total_seconds()
    return start, TimeAxis.of([(at - start).total_seconds() for at in answered], end * (1 if run.is_finished else 1.15))


def present_timeline(
    run: ApplyRun,
    results: Sequence[ObjectResult],
    spans: Mapping[int, Span],
    samples: Mapping[int, Sequence[RolloutSample]],
    now: datetime,
) -> RunTimeline | None:
    """Return the picture; None while nothing was sent.

    - `results` are as the reader may see them, `spans` without those of objects that are hidden from them.
    """
    groups = _group(results)
    if not spans or not groups:
        return None
    now = run.finished_at if run.is_finished and run.finished_at else now
    start, axis = _make_axis(run, results, spans, now)
    picture = _Picture(run, spans, samples, axis, start, now)
    waves = []
    for number, members in enumerate(groups, start=1):
        name = name_step(number, [result.change.kind for result in members])
        waves.append(picture.measure_wave(name, members))
        watched = [result for result in members if result.rollout and "wanted" in result.pods]
        if watched:
            picture.draw_workloads(name, members)
        else:
            picture.draw_lane(name, members)
    moment = None if run.is_finished else (now - start).total_seconds()
    return RunTimeline(
        height=str(picture.y + 22),
        bottom=str(picture.y),
        names=tuple(picture.names),
        lines=tuple(picture.lines[:-1]),
        bars=tuple(picture.bars),
        words=tuple(picture.words),
        ticks=axis.list_ticks(beside=moment),
        axis=axis,
        now=None if moment is None else Tick(axis.x(moment), format_clock(moment)),
        waves=tuple(waves),
        label=_("Timeline of the run by step. The list below holds the same facts."),
    )
