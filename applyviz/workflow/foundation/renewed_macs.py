"""Whether the MAC of a row is one that this installation made: the one that it was stored with, or a renewed one.

Most rows that decide are never changed, so a row keeps the MAC of the approval key it was stored under. `manage.py keys
re-sign` adds its MAC under the current key in a table of its own; an earlier key is then no longer needed. It covers
what the row says, and the MAC in the row: a row that was stored again since, such as a conflict rule that was ended, is
not set back by what was added for it before. A row without a MAC is not genuine, whatever was added for it.
"""

from __future__ import annotations

import hmac
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from django.conf import settings

from applyviz.engine.objects.values import canonical_json
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


def _renew(row: SignedRow, made: str, key: str) -> str:
    """Return the MAC that confirms a row with the MAC that it was stored with; `made`: what it says, under the key."""
    text = f"applyviz renewed MAC {canonical_json([made, row.mac])}"
    return hmac.digest(key.encode(), text.encode(), "sha256").hex()


def check_macs(rows: Iterable[_Row], make: Callable[[_Row, str], str]) -> Iterator[tuple[_Row, bool]]:
    """Yield each row of one model with whether this installation made its MAC; `make` calculates it under a key.

    - Rows under a key that is not here cost one query for each batch; all others cost none.
    """
    keys, every = list_keys(), iter(rows)

    def is_renewed(row: _Row, macs: Sequence[str]) -> bool:
        expected = [_renew(row, make(row, key), key) for key in keys] if macs else []
        return any(is_same(one, mac) for one in expected for mac in macs)

    while batch := list(islice(every, BATCH)):
        checked = [(row, bool(row.mac) and any(is_same(make(row, key), row.mac) for key in keys)) for row in batch]
        renewed = _read([row for row, is_own in checked if row.mac and not is_own])
        for row, is_own in checked:
            yield row, is_own or is_renewed(row, renewed.get(row.pk, ()))


def list_renewals(rows: Sequence[_Row], make: Callable[[_Row, str], str]) -> list[RenewedMac]:
    """Return the MACs under the current key that genuine rows of one model still need, not yet stored."""
    key = settings.APPLYVIZ_APPROVAL_KEY
    made = [(row, make(row, key)) for row in rows]
    earlier = [(row, _renew(row, mac, key)) for row, mac in made if not is_same(mac, row.mac)]
    renewed = _read([row for row, _ in earlier])
    return [
        RenewedMac(kind=type(row).__name__, row=row.pk, mac=mac)
        for row, mac in earlier
        if mac not in renewed.get(row.pk, ())
    ]
