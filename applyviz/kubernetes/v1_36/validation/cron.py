"""Find what is wrong with the schedule of a CronJob, in the words of the parser that the server uses.

Rule: ParseStandard of github.com/robfig/cron/v3: five fields, or a descriptor.
"""

from __future__ import annotations

import re

from applyviz.engine.objects.golang import read_digits

_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY = "@every "
_AMOUNT = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(?P<unit>[^.0-9]*)")
_UNITS = frozenset({"ns", "us", "µs", "μs", "ms", "s", "m", "h"})
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def find_schedule_problem(schedule: str) -> str:
    """Return why a schedule cannot be parsed; empty if it can."""
    text = schedule
    if text.startswith(("TZ=", "CRON_TZ=")):
        _zone, _, text = text.partition(" ")
        text = text.strip()
    if text.startswith("@"):
        if text in _DESCRIPTORS:
            return ""
        if text.startswith(_EVERY):
            duration = text.removeprefix(_EVERY)
            problem = _find_duration_problem(duration)
            return f"failed to parse duration {text}: time: {problem}" if problem else ""
        return f"unrecognized descriptor: {text}"
    fields = text.split()
    if len(fields) != len(_BOUNDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    return next((found for field, bounds in zip(fields, _BOUNDS, strict=True) if (found := _check(field, *bounds))), "")


def _find_duration_problem(text: str) -> str:
    """Return why a duration cannot be parsed, as Go says it; empty if it can."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    while found := _AMOUNT.match(rest):
        if not found["unit"]:
            return f'missing unit in duration "{text}"'
        if found["unit"] not in _UNITS:
            return f'unknown unit "{found["unit"]}" in duration "{text}"'
        rest = rest[found.end() :]
        if not rest:
            return ""
    return f'invalid duration "{text}"'


def _check(field: str, least: int, most: int, names: dict[str, int]) -> str:
    return next((found for part in field.split(",") if part and (found := _check_range(part, least, most, names))), "")


def _check_range(expression: str, least: int, most: int, names: dict[str, int]) -> str:
    """Return why one range is wrong: `a`, `a-b`, `*`, each with `/step`."""
    bounds, *steps = expression.split("/")
    low_high = bounds.split("-")
    if low_high[0] in ("*", "?"):
        start, end = least, most
    else:
        numbers = []
        for text in low_high[:2]:
            if text.lower() in names:
                numbers.append(names[text.lower()])
                continue
            if problem := _check_number(text):
                return problem
            numbers.append(int(text))
        if len(low_high) > 2:
            return f"too many hyphens: {expression}"
        start, end = numbers[0], numbers[-1]
    if len(steps) > 1:
        return f"too many slashes: {expression}"
    if steps:
        if problem := _check_number(steps[0]):
            return problem
        end = most if len(low_high) == 1 else end
    return _check_bounds(start, end, int(steps[0]) if steps else 1, (least, most), expression)


def _check_number(text: str) -> str:
    found = re.fullmatch("([+-]?)([0-9]+)", text)
    number = None if found is None else read_digits(found[2])
    if found is None or number is None:
        reason = "invalid syntax" if found is None else "value out of range"
        return f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {reason}'
    return f"negative number (-{number}) not allowed: {text}" if found[1] == "-" and number else ""


def _check_bounds(start: int, end: int, step: int, bounds: tuple[int, int], expression: str) -> str:
    least, most = bounds
    if start < least:
        return f"beginning of range ({start}) below minimum ({least}): {expression}"
    if end > most:
        return f"end of range ({end}) above maximum ({most}): {expression}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {expression}"
    return "" if step else f"step of range should be a positive number: {expression}"
