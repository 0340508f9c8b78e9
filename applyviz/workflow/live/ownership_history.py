"""Field owners of one object over time, from every observation of its managedFields.

Plans read live before a change, and runs receive the object after their write. Where two consecutive observations
differ, fields changed owners. Rule: a field owner is a manager with its operation and subresource
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management); the time of its entry dates the
change if it lies between both observations. It is of the clock of the API server and is converted to ours, as both
observations are. Only paths are read here, never values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from django.db.models import F, QuerySet
from msgspec import Struct

from applyviz.clusters.server_clock import to_ours
from applyviz.engine.diff.marks import remove_tags
from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import Certainty
from applyviz.records.enums import EntryState, Outcome
from applyviz.records.models import JournalEntry, ObjectChange, Review
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.scopes import ScopeEntry

MOST_READINGS = 60
MOST_HANDOVERS = 50
_SECOND = timedelta(seconds=1)
# Group, kind, namespace, name: `ObjectRef.key`.
Key: TypeAlias = tuple[str, str, str, str]


class FieldOwner(NamedTuple):
    """One field owner over API versions and times."""

    manager: str
    operation: str
    subresource: str = ""


class Source(StrEnum):
    """The source of an observation."""

    PLAN = "plan"
    RUN = "run"


class Observation(Struct, frozen=True):
    """The owners of an object as observed once; `entries` are raw managedFields, None for an absent object.

    - `review`, `plan` and `position` name the object change, `run` the apply run whose answer this is.
    - `ahead` is how far the clock of the API server, which `entries` go by, was ahead of ours, None if unknown.
    """

    at: datetime
    source: Source
    entries: JSONValue
    review: int
    plan: int
    position: int
    run: int | None = None
    ahead: timedelta | None = None


class OwnershipSpan(Struct, frozen=True):
    """The number of fields of an owner after a moment, and how many it gained and lost."""

    owner: FieldOwner
    fields: int
    gained: int = 0
    lost: int = 0


class OwnerChange(Struct, frozen=True):
    """One field whose owners changed; without owners before it is new, without owners after nothing owns it now."""

    path: str
    before: tuple[FieldOwner, ...]
    after: tuple[FieldOwner, ...]


class OwnershipEvent(Struct, frozen=True):
    """A time at which owners changed: dated `at`, seen by `reading`, not yet so at `since` (None: first observation).

    - `handovers` are the first of `handover_count`, in path order.
    """

    at: datetime
    since: datetime | None
    reading: Observation
    is_there: bool
    holdings: tuple[OwnershipSpan, ...]
    handovers: tuple[OwnerChange, ...]
    handover_count: int


class OwnershipPeriod(Struct, frozen=True):
    """An owner from its first field until it has none; `until` None: it still owns some in the last observation."""

    owner: FieldOwner
    since: datetime
    until: datetime | None
    most: int


class OwnersOverTime(Struct, frozen=True):
    """Moments newest first, ownership periods oldest first; `is_cut`: older observations were left out."""

    moments: tuple[OwnershipEvent, ...] = ()
    periods: tuple[OwnershipPeriod, ...] = ()
    is_cut: bool = False


class _Owned(NamedTuple):
    """Return the owners in one reading."""

    paths: Mapping[FieldOwner, frozenset[FieldPath]]
    times: Mapping[FieldOwner, datetime]


def _read(reading: Observation) -> _Owned:
    paths: dict[FieldOwner, frozenset[FieldPath]] = {}
    times: dict[FieldOwner, datetime] = {}
    # Tags differ between plans, so two readings are compared without them.
    for entry in read_owners({"metadata": {"managedFields": remove_tags(reading.entries or [])}}).entries:
        owner = FieldOwner(entry.owner.manager, entry.owner.operation, entry.owner.subresource)
        owned = frozenset(path for path in entry.fields if path != LAST_APPLIED_PATH)
        if not owned:
            continue
        paths[owner] = paths.get(owner, frozenset()) | owned
        if entry.owner.time:
            at = to_ours(datetime.fromisoformat(entry.owner.time), reading.ahead)
            times[owner] = max(at, times.get(owner, at))
    return _Owned(paths, times)


def _owners(owned: _Owned, path: FieldPath) -> tuple[FieldOwner, ...]:
    return tuple(sorted(owner for owner, paths in owned.paths.items() if path in paths))


def _find_moved(before: _Owned, after: _Owned) -> list[FieldPath]:
    moved: set[FieldPath] = set()
    for owner in before.paths.keys() | after.paths.keys():
        moved |= before.paths.get(owner, frozenset()) ^ after.paths.get(owner, frozenset())
    return sorted(moved, key=render_path)


def _list_spans(before: _Owned, after: _Owned) -> Iterator[OwnershipSpan]:
    for owner in sorted(before.paths.keys() | after.paths.keys()):
        had, has = before.paths.get(owner, frozenset()), after.paths.get(owner, frozenset())
        yield OwnershipSpan(owner, len(has), len(has - had), len(had - has))


def _date(before: _Owned, after: _Owned, reading: Observation, since: datetime | None) -> datetime:
    """Return when fields changed owners: the time in the entries of the new owners, else that of the observation."""
    gained = [o for o, paths in after.paths.items() if paths - before.paths.get(o, frozenset())]
    # Entries have whole seconds.
    times = [at for owner in gained if (at := after.times.get(owner)) and (since is None or at > since - _SECOND)]
    return min(max(times), reading.at) if times else reading.at


def _make_moment(before: _Owned, after: _Owned, reading: Observation, since: datetime | None) -> OwnershipEvent | None:
    """Return the changes between two observations; for the first one, everything it found."""
    moved = _find_moved(before, after)
    if not moved and since is not None:
        return None
    listed = moved if since is not None else []
    return OwnershipEvent(
        at=_date(before, after, reading, since),
        since=since,
        reading=reading,
        is_there=reading.entries is not None,
        holdings=tuple(_list_spans(before if since is not None else after, after)),
        handovers=tuple(
            OwnerChange(render_path(p), _owners(before, p), _owners(after, p)) for p in listed[:MOST_HANDOVERS]
        ),
        handover_count=len(listed),
    )


def _find_periods(moments: Sequence[OwnershipEvent]) -> tuple[OwnershipPeriod, ...]:
    """Return periods from moments, oldest first, in their order: managedFields have whole seconds only."""
    found: list[tuple[int, OwnershipPeriod]] = []
    running: dict[FieldOwner, tuple[int, int]] = {}
    for number, moment in enumerate(moments):
        for holding in moment.holdings:
            first, most = running.pop(holding.owner, (number, 0))
            if holding.fields:
                running[holding.owner] = (first, max(most, holding.fields))
            elif most:
                found.append((first, OwnershipPeriod(holding.owner, moments[first].at, moment.at, most)))
    found += (
        (first, OwnershipPeriod(owner, moments[first].at, None, most)) for owner, (first, most) in running.items()
    )
    return tuple(period for _, period in sorted(found, key=lambda one: (one[0], one[1].owner)))


def compute_owners(readings: Sequence[Observation], *, is_cut: bool = False) -> OwnersOverTime:
    """Return the moments at which owners changed and the period of each owner; pure.

    - The first observation is a moment without handovers.
    """
    moments: list[OwnershipEvent] = []
    before, since = _Owned({}, {}), None
    for reading in sorted(readings, key=lambda one: (one.at, one.source is Source.RUN)):
        after = _read(reading)
        moment = _make_moment(before, after, reading, since)
        if moment is not None:
            moments.append(moment)
        before, since = after, reading.at
    return OwnersOverTime(tuple(reversed(moments)), _find_periods(moments), is_cut)


def _columns(key: Key, prefix: str = "") -> dict[str, str]:
    names = ("group", "kind", "namespace", "name")
    return {f"{prefix}{name}": value for name, value in zip(names, key, strict=True)}


def _read_plans(cluster: str, key: Key, seen: QuerySet[Review], most: int) -> Iterator[Observation]:
    found = ObjectChange.objects.filter(
        **_columns(key), plan__target__cluster__slug=cluster, plan__review__in=seen, plan__completed_at__isnull=False
    )
    # Nothing was read for an unknown change.
    found = found.exclude(certainty=Certainty.UNKNOWN)
    rows = found.order_by("-plan__created_at", "-id").values_list(
        "plan__created_at",
        F("document__versions__live__kind"),
        F("document__versions__live__metadata__managedFields"),
        "plan__review__number",
        "plan__number",
        "position",
        "plan__server_ahead",
    )
    for at, kind, entries, review, plan, position, ahead in rows[:most]:
        there = None if kind is None else entries or []
        yield Observation(at, Source.PLAN, there, review, plan, position, ahead=ahead)


def _read_runs(cluster: str, key: Key, seen: QuerySet[Review], most: int) -> Iterator[Observation]:
    found = JournalEntry.objects.filter(
        **_columns(key, "result__change__"),
        result__run__plan__target__cluster__slug=cluster,
        result__run__plan__review__in=seen,
        state=EntryState.ANSWERED,
        status__gte=200,
        status__lt=300,
        answer__isnull=False,
    ).exclude(method="GET")
    rows = found.order_by("-id").values_list(
        "answered_at",
        "method",
        "result__outcome",
        F("answer__metadata__managedFields"),
        "result__run__plan__review__number",
        "result__run__plan__number",
        "result__position",
        "result__run__number",
        "server_ahead",
    )
    for at, method, outcome, entries, review, plan, position, run, ahead in rows[:most]:
        # The answer to a write that ends a deletion shows the object, which is gone.
        there = None if method == "DELETE" or outcome == Outcome.DELETED else entries or []
        yield Observation(at, Source.RUN, there, review, plan, position, run, ahead)


def owners_of(cluster: str, key: Key, *, for_user: Visitor, most: int = MOST_READINGS) -> OwnersOverTime:
    """Return the owners of an object's fields over time, from the plans and runs that this person may see.

    - `key` is (group, kind, namespace, name), as in `ObjectRef.key`; `cluster` is a slug.
    - `most` bounds how many plans and how many run answers are read, the newest of each.
    """
    access.require(for_user, Action.VIEW, [ScopeEntry(cluster, key[2])])
    seen = Review.objects.filter(access.select_reviews(for_user))
    plans = list(_read_plans(cluster, key, seen, most + 1))
    runs = list(_read_runs(cluster, key, seen, most + 1))
    is_cut = len(plans) > most or len(runs) > most
    readings = [*plans[:most], *runs[:most]]
    if is_cut:
        # Where one source was cut, older observations of the other would be incomplete.
        start = max(part[most - 1].at for part in (plans, runs) if len(part) > most)
        readings = [reading for reading in readings if reading.at >= start]
    return compute_owners(readings, is_cut=is_cut)
