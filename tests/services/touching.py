"""A superuser of the database touches a long history, in one way after the other; each is verified and taken back.

Runs inside an installation whose history `benchmarks.audit.fill` has written. Each way knows, from how the entries
were laid out before, which places verification may name: the entry itself, or the first one that cannot stand
without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from django.db import connection, transaction

from applyviz.records import triggers
from applyviz.records.models import AuditEntry, ChainEnd
from applyviz.workflow.audit import chain

TABLE = "records_auditentry"
COLUMNS = ("actor_name", "action", "cluster", "roles", "address", "field_manager", "plan_digest", "previous_hash")
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Touch:
    """What is done, and the places that may be named for it."""

    how: str
    statements: tuple[str, ...]
    places: frozenset[Place]


class Hand:
    """Picks entries at random."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.last = AuditEntry.objects.order_by("-id").values_list("id", flat=True)[0]

    def pick(self, **wanted: object) -> AuditEntry:
        """Any entry of all, with what is wanted of it."""
        start = self.random.randint(1, self.last)
        found = AuditEntry.objects.filter(id__gte=start, **wanted).order_by("id").first()
        return found or AuditEntry.objects.filter(**wanted).order_by("id")[0]

    def change(self) -> Touch:
        """One column."""
        entry, column = self.pick(), self.random.choice(COLUMNS)
        place = (entry.chain, entry.sequence)
        return Touch(
            f"change {column}", (f"UPDATE {TABLE} SET {column} = 'mallory' WHERE id = {entry.pk}",), frozenset({place})
        )

    def change_moment(self) -> Touch:
        """Replace the time of an entry by that of another."""
        entry, other = self.pick(), self.pick()
        sql = f"UPDATE {TABLE} SET at = (SELECT at FROM {TABLE} WHERE id = {other.pk}) WHERE id = {entry.pk}"
        return Touch("change at", (sql,), frozenset({(entry.chain, entry.sequence)} if entry != other else ()))

    def change_body(self) -> Touch:
        """Replace the content of an entry and nothing else."""
        entry = self.pick()
        sql = f"""UPDATE {TABLE} SET detail = '{{"n": 1}}' WHERE id = {entry.pk}"""
        return Touch("change body", (sql,), frozenset({(entry.chain, entry.sequence)}))

    def delete(self) -> Touch:
        """Delete an entry; its successor in the chain, or the entry that refers to it, is then invalid."""
        entry = self.pick()
        places = {(entry.chain, entry.sequence)}
        if entry.action == "run.started":
            places.add((entry.run or 0, 1))
        named = AuditEntry.objects.filter(chain=0, action="run.finished", run=entry.chain or None)
        places |= set(named.values_list("chain", "sequence"))
        return Touch("delete", (f"DELETE FROM {TABLE} WHERE id = {entry.pk}",), frozenset(places))

    def reorder(self) -> Touch:
        """Two entries of one chain change places; numbers stay."""
        one = self.pick(chain__gt=0, sequence__gt=1)
        other = AuditEntry.objects.get(chain=one.chain, sequence=self.random.randint(1, one.sequence - 1))
        return Touch("reorder", _swap(one.pk, other.pk, "sequence"), frozenset({(one.chain, other.sequence)}))

    def renumber(self) -> Touch:
        """Two entries of different chains change numbers: each chain keeps its places."""
        one = other = self.pick()
        while other.chain == one.chain:
            other = self.pick()
        one, other = sorted((one, other), key=lambda entry: entry.pk)
        touched = frozenset((entry.chain, sequence) for entry in (one, other) for sequence in range(1, self.last))
        started = frozenset((entry.run or 0, 1) for entry in (one, other))
        return Touch("renumber", _swap(one.pk, other.pk, "id"), touched | started)

    def truncate(self) -> Touch:
        """Everything from somewhere on."""
        entry = self.pick()
        kept = AuditEntry.objects.filter(id__lt=entry.pk)
        is_global = AuditEntry.objects.filter(id__gte=entry.pk, chain=0).exists()
        chained = 0 if is_global else entry.chain
        place = (chained, kept.filter(chain=chained).count() + 1)
        return Touch("truncate", (f"DELETE FROM {TABLE} WHERE id >= {entry.pk}",), frozenset({place}))

    def empty(self) -> Touch:
        """Everything."""
        sql = f"TRUNCATE {TABLE} CASCADE" if connection.vendor == "postgresql" else f"DELETE FROM {TABLE}"
        return Touch("empty", (sql,), frozenset({(0, 1)}))


def _swap(one: int, other: int, column: str) -> tuple[str, ...]:
    """Two rows exchange a column; a unique one, so by a third value."""
    values = dict(AuditEntry.objects.filter(id__in=(one, other)).values_list("id", column))
    return (
        f"UPDATE {TABLE} SET {column} = 900000000 WHERE id = {one}",
        f"UPDATE {TABLE} SET {column} = {values[one]} WHERE id = {other}",
        f"UPDATE {TABLE} SET {column} = {values[other]} WHERE {column} = 900000000",
    )


def _try(touch: Touch) -> str:
    with transaction.atomic():
        triggers.lift("default")
        with connection.cursor() as cursor:
            for statement in touch.statements:
                cursor.execute(statement)
        bad = chain.verify_chain().bad
        transaction.set_rollback(True)
    is_named = bad is not None and (bad.chain, bad.sequence) in touch.places
    return f"{touch.how}: named" if is_named else f"{touch.how}: NOT NAMED: {touch.statements} {bad} {touch.places}"


def touch_all(seed: str, rounds: int) -> Iterator[str]:
    """What came of each touch, one line each, and whether all is as it was."""
    hand = Hand(seed)
    ways: tuple[Callable[[], Touch], ...] = (
        *(hand.change, hand.change_moment, hand.change_body, hand.delete),
        *(hand.reorder, hand.renumber, hand.truncate),
    )
    for way in ways:
        for _round in range(rounds):
            yield _try(way())
    yield _try(hand.empty())
    yield _try_with_heads(hand)
    yield "intact" if chain.verify_chain().is_intact else "left touched"


def _try_with_heads(hand: Hand) -> str:
    """Cut off the end and adapt the stored heads: only a published checkpoint shows it."""
    published = chain.find_checkpoint()
    cut = hand.pick(chain=0, action="run.started").pk
    with transaction.atomic():
        triggers.lift("default")
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {TABLE} WHERE id >= {cut}")
        rows = AuditEntry.objects.order_by("id").values_list("chain", "sequence", "hash").iterator()
        heads = {number: ChainEnd(chain=number, sequence=sequence, hash=hashed) for number, sequence, hashed in rows}
        ChainEnd.objects.all().delete()
        ChainEnd.objects.bulk_create(heads.values(), batch_size=1_000)
        alone, held = chain.verify_chain(), chain.verify_chain(published=published)
        transaction.set_rollback(True)
    place = 1 + (heads[0].sequence if 0 in heads else 0)
    is_named = alone.is_intact and held.bad is not None and (held.bad.chain, held.bad.sequence) == (0, place)
    return "cut with its heads: named" if is_named else f"cut with its heads: NOT NAMED: {alone} {held}"
