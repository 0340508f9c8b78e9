"""Requests and limits of a plan by namespace, before and after, from the figures that the plan stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

_WORDS: dict[tuple[str, str], str | Promise] = {
    ("requests", "cpu"): _("CPU requests"),
    ("requests", "memory"): _("Memory requests"),
    ("limits", "cpu"): _("CPU limits"),
    ("limits", "memory"): _("Memory limits"),
}
_UNITS = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One sum; `is_same` when the plan does not change it."""

    namespace: str
    word: str | Promise
    before: str
    after: str

    @property
    def is_same(self) -> bool:
        """Return whether the plan does not change it."""
        return self.before == self.after


def _write_amount(resource: str, text: str) -> str:
    amount = Decimal(text)
    if resource == "cpu":
        return format(amount.quantize(Decimal("0.001")).normalize(), "f")
    for power, unit in zip(range(6, 0, -1), _UNITS, strict=True):
        if amount >= 1024**power:
            return f"{format((amount / 1024**power).quantize(Decimal('0.01')).normalize(), 'f')} {unit}B"
    return format(amount, "f")


def _read_rows(summary: Mapping[str, Any]) -> Iterator[ResourceRow]:
    for one in summary.get("resources", []):
        resource = one["resource"]
        yield ResourceRow(
            one["namespace"],
            _WORDS[one["bound"], resource],
            _write_amount(resource, one["before"]),
            _write_amount(resource, one["after"]),
        )


def list_resources(summary: Mapping[str, Any]) -> tuple[ResourceRow, ...]:
    """Return the sums of all workloads in the plan."""
    return tuple(_read_rows(summary))
