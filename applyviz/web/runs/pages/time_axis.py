"""The axis of a run's timeline: requests take milliseconds and rollouts minutes, so it may be broken once.

Places are percentages of the picture's width, written as texts: a picture that is drawn at any width keeps its letters.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from msgspec import Struct

_LAST = 84.0  # what is right of it holds the words beside the last bars
_DENSE, _AFTER_BREAK = 27.0, 29.5
_TEXT = 3.0  # half of the text of a moment in a narrow picture
_BREAKS_AT = 4.0
_LONGEST_GAP = 3.0
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
_MINUTE = 60


class Tick(Struct, frozen=True):
    """One moment that the axis names."""

    x: str
    text: str


class TimeAxis(Struct, frozen=True):
    """Seconds since the start as places; `dense` is how long the stretched beginning is, 0 when it is not broken."""

    end: float
    dense: float = 0.0

    @classmethod
    def of(cls, requests: Sequence[float], end: float) -> TimeAxis:
        """Return the axis of a run whose requests were answered at these seconds and that lasts until `end`."""
        dense = 0.0
        for at in sorted(requests):
            if at - dense > _LONGEST_GAP:
                break
            dense = max(dense, at)
        end = max(end, dense, 0.05)
        dense *= 1.15
        return cls(end, dense if 0 < dense * _BREAKS_AT < end else 0.0)

    @property
    def is_broken(self) -> bool:
        """Whether the first part of the axis is stretched."""
        return self.dense > 0

    @property
    def stretch(self) -> int:
        """The factor by which the first part of the axis is stretched."""
        if not self.is_broken:
            return 1
        return round((_DENSE / self.dense) / ((_LAST - _AFTER_BREAK) / (self.end - self.dense)))

    @property
    def break_x(self) -> str:
        """The position at which the stretched part ends."""
        return _write(_DENSE)

    @property
    def break_width(self) -> str:
        """The width of the gap after the stretched part."""
        return _write(_AFTER_BREAK - _DENSE)

    def scale(self, seconds: float) -> float:
        """Return the position of a moment, in percent of the axis."""
        at = min(max(seconds, 0.0), self.end)
        if not self.is_broken:
            return at / self.end * _LAST
        if at <= self.dense:
            return at / self.dense * _DENSE
        return _AFTER_BREAK + (at - self.dense) / (self.end - self.dense) * (_LAST - _AFTER_BREAK)

    def x(self, seconds: float) -> str:
        """Return the position of a moment as SVG writes it."""
        return _write(self.scale(seconds))

    def width(self, start: float, end: float, *, least: float = 0.25) -> str:
        """Return how wide a span is; what took no time can still be seen."""
        return _write(max(self.scale(end) - self.scale(start), least))

    def full_x(self, seconds: float) -> str:
        """Return the position of a moment in a picture without words beside the bars."""
        return _write(min(self.scale(seconds) / _LAST * 100, 98.0))

    def full_width(self, start: float, end: float) -> str:
        """Return how wide a span is in such a picture; what took no time can still be seen."""
        return _write(max((self.scale(end) - self.scale(start)) / _LAST * 100, 2.0))

    def list_ticks(self, beside: float | None = None) -> tuple[Tick, ...]:
        """Return the moments to name, in both parts; none as close to `beside`, which has its own name, as its text."""
        if not self.is_broken:
            named = _divide(0.0, self.end, 7)
        else:
            unit = _MINUTE if self.end >= _MINUTE else 1
            late = [(at, max(step, unit)) for at, step in _divide(self.dense, self.end, 5)]
            is_tight = bool(late) and self.scale(late[0][0]) < _AFTER_BREAK + _TEXT
            named = [*_divide(0.0, self.dense, 4), *(late[1:] if is_tight else late)]
        if beside is not None:
            named = [(at, step) for at, step in named if abs(self.scale(at) - self.scale(beside)) >= 2 * _TEXT]
        return tuple(Tick(self.x(at), format_clock(at, step)) for at, step in named)


def _write(percent: float) -> str:
    return f"{percent:.2f}%"


def _divide(start: float, end: float, most: int) -> list[tuple[float, float]]:
    step = next((step for step in _STEPS if (end - start) / step <= most), _STEPS[-1])
    first = int(start / step) + (1 if start > 0 else 0)
    return [(n * step, step) for n in range(first, int(end / step) + 1)][: most + 1]


def format_clock(seconds: float, step: float = 1) -> str:
    """Return a time since the start: seconds with as many digits as the step asks for, or minutes and seconds."""
    if seconds >= _MINUTE or step >= _MINUTE:
        whole = int(seconds)
        hours, rest = divmod(whole, 3600)
        return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
    digits = 0 if step >= 1 else 1 if step >= 0.1 else 2
    return _("%(seconds)s s") % {"seconds": f"{seconds:.{digits}f}"}
