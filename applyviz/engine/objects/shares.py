"""Amounts that are a number or a percentage of a whole, such as `maxSurge` and `minAvailable`.

Rule: k8s.io/apimachinery `pkg/util/intstr`: GetScaledValueFromIntOrPercent; text without a percent sign is no amount.
"""

from __future__ import annotations

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.values import JSONValue


def scale_share(value: JSONValue, whole: int, *, is_rounded_up: bool) -> int | None:
    """Return a number, or a percentage of a whole; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = read_digits(value[:-1]) if isinstance(value, str) and value.endswith("%") else None
    if percent is None:
        return None
    return -(-whole * percent // 100) if is_rounded_up else whole * percent // 100
