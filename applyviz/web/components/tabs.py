"""Tabs: the links at the head of a page that has several views."""

from __future__ import annotations

from django.utils.functional import Promise
from msgspec import Struct


class TabLink(Struct, frozen=True):
    """One tab; `count` is the number of its entries, None for a tab without one."""

    word: str | Promise
    url: str
    is_current: bool
    count: int | None = None
