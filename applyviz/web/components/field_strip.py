"""The three-way strip: last applied, manifest, live and after apply as four stations, and a line from the one that won.

Small in a row (96 × 16) and opened from top to bottom (320 × 120), where values have room. Shapes say everything that
colors say: filled is the value after apply, hollow another one, a gap is unset, a dashed ring is not known. Values come
masked and are named in the sentence alone, so the picture of a field of a Secret reveals nothing more.
"""  # noqa: RUF002 the sign of multiplication is drawn

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.explain.three_way import MergeOutcome, Station, ThreeWay, Winner
from applyviz.web.components.values import Shown

Text = str | Promise
LABELS: tuple[Text, ...] = (
    gettext_lazy("last applied"),
    gettext_lazy("manifest"),
    gettext_lazy("live"),
    gettext_lazy("after"),
)
LONGEST, SAID = 28, 60
_ACROSS, _DOWN = (8, 32, 56, 88), (14, 40, 66, 100)
_LINE: Mapping[Winner, str] = {
    Winner.MANIFEST: "M32 10C38 -1 76 -1 84 6",
    Winner.LIVE: "M61 10H83",
    Winner.SERVER: "M71 12V10H83",
    Winner.CONFLICT: "M32 10C38 -1 76 -1 84 6M61 10H82",
    Winner.NONE: "",
}
_OPENED_LINE: Mapping[Winner, str] = {
    Winner.MANIFEST: "M92 40C74 46 74 92 87 99",
    Winner.LIVE: "M92 66V95",
    Winner.SERVER: "M103 86V100H97",
    Winner.CONFLICT: "M92 40C74 46 74 92 87 99M92 66V95",
    Winner.NONE: "",
}
_DECISIONS: Mapping[Winner, Text] = {
    Winner.MANIFEST: gettext_lazy("the manifest wins"),
    Winner.LIVE: gettext_lazy("live is kept"),
    Winner.SERVER: gettext_lazy("the server sets it"),
    Winner.CONFLICT: gettext_lazy("conflict, unresolved"),
    Winner.NONE: gettext_lazy("no change"),
}
_OUTCOMES: Mapping[MergeOutcome, Text] = {
    MergeOutcome.UNSET: gettext_lazy("unset"),
    MergeOutcome.REMOVED: gettext_lazy("removed"),
    MergeOutcome.UNRESOLVED: gettext_lazy("unresolved"),
    MergeOutcome.UNKNOWN: gettext_lazy("not shown to you"),
}
_OPENED_OUTCOMES: Mapping[MergeOutcome, Text] = {
    **_OUTCOMES,
    MergeOutcome.UNRESOLVED: gettext_lazy("conflict: choose a resolution"),
}


class StationMark(Struct, frozen=True):
    """One station: its shape, its center, and in the opened picture its label and its value as text."""

    shape: str
    at: int
    label: Text = ""
    text: Text = ""
    is_value: bool = True


class FieldStrip(Struct, frozen=True):
    """The drawing of a strip: `base` and `line` are paths, `label` is its sentence for people who do not see it."""

    tone: str
    label: str
    base: str
    line: str
    stations: tuple[StationMark, ...]
    outcome: str
    after: StationMark
    is_by_server: bool = False


Values = Sequence[Shown | None]


def _find_tone(picture: ThreeWay, tone: str) -> str:
    """The tone of the operation; what changes nothing is calm, and a default that replaces a value is a change."""
    if picture.winner is Winner.CONFLICT:
        return "remove"
    if picture.winner is Winner.NONE:
        return "calm"
    if picture.winner is Winner.SERVER and picture.live is Station.OTHER:
        return "remove" if picture.outcome is MergeOutcome.REMOVED else "change"
    return tone


def _cut(shown: Shown | None, longest: int) -> str:
    text = "" if shown is None else shown.text.partition("\n")[0]
    is_whole = shown is not None and len(text) == len(shown.text) and len(text) <= longest and not shown.is_cut
    return text if is_whole else f"{text[: longest - 1]}…"


def _describe_station(station: Station, shown: Shown | None, longest: int, *, is_live: bool) -> Text:
    if station is Station.UNKNOWN:
        return _("not shown to you") if is_live else _("not known")
    return _("unset") if station is Station.UNSET else _cut(shown, longest)


def _describe_outcome(picture: ThreeWay, shown: Shown | None, longest: int) -> Text:
    return _OUTCOMES.get(picture.outcome) or _cut(shown, longest)


def _describe(picture: ThreeWay, values: Values) -> str:
    stations = (picture.last_applied, picture.manifest, picture.live)
    described = [
        _describe_station(s, v, SAID, is_live=n == 2) for n, (s, v) in enumerate(zip(stations, values, strict=False))
    ]
    parts = [
        f"{label} {text}"
        for label, text in zip(LABELS, [*described, _describe_outcome(picture, values[3], SAID)], strict=True)
    ]
    decision = "" if picture.outcome is MergeOutcome.UNKNOWN else f": {_DECISIONS[picture.winner]}"
    return "; ".join(parts) + decision


def _draw_base(shapes: Sequence[str], winner: Winner) -> str:
    """The thin line between stations; it stops before a gap, and a conflict has its own line from live."""
    parts = []
    for n, (left, right) in enumerate(pairwise(_ACROSS)):
        if n == 2 and winner is Winner.CONFLICT:
            continue
        start = left + (6 if shapes[n] == Station.UNSET else 5)
        end = right - (6 if shapes[n + 1] == Station.UNSET else 5)
        parts.append(f"M{start} 10H{end}")
    return "".join(parts)


def present_strip(picture: ThreeWay, values: Values, *, tone: str) -> FieldStrip:
    """The strip of a row; `values` are the four versions, masked, None where there is none."""
    stations = (picture.last_applied, picture.manifest, picture.live)
    shapes = [*(s.value for s in stations), picture.outcome.value]
    return FieldStrip(
        tone=_find_tone(picture, tone),
        label=_describe(picture, values),
        base=_draw_base(shapes, picture.winner),
        line=_LINE[picture.winner],
        stations=tuple(StationMark(s.value, x) for s, x in zip(stations, _ACROSS, strict=False)),
        outcome=picture.outcome.value,
        after=StationMark(picture.outcome.value, _ACROSS[3]),
        is_by_server=picture.winner is Winner.SERVER,
    )


def present_opened_strip(picture: ThreeWay, values: Values, *, tone: str) -> FieldStrip:
    """The same stations from top to bottom with their values, each cut to what fits."""
    stations = (picture.last_applied, picture.manifest, picture.live)
    marks = tuple(
        StationMark(
            s.value,
            y,
            LABELS[n],
            _describe_station(s, values[n], LONGEST, is_live=n == 2),
            s in (Station.SAME, Station.OTHER),
        )
        for n, (s, y) in enumerate(zip(stations, _DOWN, strict=False))
    )
    text = _OPENED_OUTCOMES.get(picture.outcome) or _cut(values[3], LONGEST)
    return FieldStrip(
        tone=_find_tone(picture, tone),
        label="",
        base="M92 14V96",
        line=_OPENED_LINE[picture.winner],
        stations=marks,
        outcome=picture.outcome.value,
        after=StationMark(picture.outcome.value, _DOWN[3], LABELS[3], text, picture.outcome is MergeOutcome.SET),
        is_by_server=picture.winner is Winner.SERVER,
    )
