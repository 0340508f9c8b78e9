"""Whether the MAC of a row is one that this installation made: the one that it was stored with, or a renewed one.

Most rows that decide are never changed, so a row keeps the MAC of the approval key it was stored under. `manage.py keys
re-sign` adds its MAC under the current key in a table of its own; an earlier key is then no longer needed. Both MACs
cover the same content. A row without a MAC is not genuine, whatever was added for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from django.conf import settings

from applyviz.records.keyed_hashes import is_same
from applyviz.records.models import RenewedMac

BATCH = 500


class SignedRow(Protocol):
    """A stored row with a MAC."""

    pk: int
    mac: str


_Row = TypeVar("_Row", bound=SignedRow)


def list_keys() -> list[str]:
    """Return the current approval key and the earlier ones that still count."""
    return [key for key in (settings.APPLYVIZ_APPROVAL_KEY, *settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS) if key]


def _read(rows: Sequence[SignedRow]) -> Mapping[int, Sequence[str]]:
    """Read the renewed MACs of rows of one model, by primary key; without rows, ask nothing."""
    found: dict[int, list[str]] = defaultdict(list)
    if rows:
        renewed = RenewedMac.objects.filter(kind=type(rows[0]).__name__, row__in=[row.pk for row in rows])
        for number, mac in renewed.values_list("row", "mac"):
            found[number].append(mac)
    return found


def check_macs(rows: Iterable[_Row], make: Callable[[_Row, str], str]) -> Iterator[tuple[_Row, bool]]:
    """Yield each row of one model with whether this installation made its MAC; `make` calculates it under a key.

    - Rows under a key that is not here cost one query for each batch; all others cost none.
    """
    keys, every = list_keys(), iter(rows)

    def is_made(row: _Row, *macs: str) -> bool:
        return any(is_same(expected, mac) for expected in (make(row, key) for key in keys) for mac in macs)

    while batch := list(islice(every, BATCH)):
        checked = [(row, bool(row.mac) and is_made(row, row.mac)) for row in batch]
        renewed = _read([row for row, is_own in checked if row.mac and not is_own])
        for row, is_own in checked:
            yield row, is_own or is_made(row, *renewed.get(row.pk, ()))


def list_renewals(rows: Sequence[_Row], make: Callable[[_Row, str], str]) -> list[RenewedMac]:
    """Return the MACs under the current key that genuine rows of one model still need, not yet stored."""
    made = [(row, make(row, settings.APPLYVIZ_APPROVAL_KEY)) for row in rows]
    earlier = [(row, mac) for row, mac in made if not is_same(mac, row.mac)]
    renewed = _read([row for row, _ in earlier])
    return [
        RenewedMac(kind=type(row).__name__, row=row.pk, mac=mac)
        for row, mac in earlier
        if mac not in renewed.get(row.pk, ())
    ]
