"""The ends of audit chains, and the next number of a review, plan or run, assigned under the lock of audit entries."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Max, Model, QuerySet

from applyviz.records.models import ChainEnd
from applyviz.records.written_queries import WrittenQuery

_END = WrittenQuery(lambda chain: ChainEnd.objects.select_for_update().filter(chain=chain))


def lock_end(chain: int = 0, find_start: Callable[[], str] | None = None) -> ChainEnd:
    """Lock the end of a chain, else of the global one, until the surrounding transaction ends.

    - `find_start` returns the hash that the first entry of a new chain follows; None: it follows nothing.
    """
    end = _END.find(chain)
    if end is None:  # another transaction may add it at the same moment; then it is waited for
        made = ChainEnd(chain=chain) if find_start is None else ChainEnd(chain=chain, hash=find_start())
        ChainEnd.objects.bulk_create([made], ignore_conflicts=True)
        (end,) = _END.ask(chain)
    return end


def next_number(rows: QuerySet[Model]) -> int:
    """Return the greatest number among `rows` plus one; call it inside a transaction."""
    lock_end()
    greatest: int | None = rows.aggregate(greatest=Max("number"))["greatest"]
    return (greatest or 0) + 1
