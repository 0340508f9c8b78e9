"""Durations and ages as kubectl prints them; rule: k8s.io/apimachinery `pkg/util/duration`."""

from __future__ import annotations

from datetime import datetime


def render_age(seconds: float) -> str:
    """Return a duration as kubectl prints it."""
    whole = max(int(seconds), 0)
    minutes, hours = whole // 60, whole // 3600
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _pair(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _pair(days // 365, "y", days % 365, "d") if days < 2920 else f"{days // 365}y"


def _pair(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def render_since(moment: str | None, now: datetime, default: str = "<unknown>") -> str:
    """Return how long ago a moment in RFC 3339 was; the default where there is none."""
    return render_age((now - datetime.fromisoformat(moment)).total_seconds()) if moment else default
