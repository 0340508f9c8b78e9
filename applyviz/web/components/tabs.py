"""Tabs: the links at the head of a page that has several views."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise


@dataclass(frozen=True, slots=True)
class TabLink:
    """One tab; `count` is the number of its entries, None for a tab without one."""

    word: str | Promise
    url: str
    is_current: bool
    count: int | None = None
