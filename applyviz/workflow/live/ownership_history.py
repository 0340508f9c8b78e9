"""Field owners of one object over time, from every reading of its managedFields.

Plans read live before anything happens, runs get the object back with what they wrote; between two readings that
differ, fields changed hands. Rule: a field owner is a manager with its operation and subresource
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management); the time of its entry says when,
where it lies between both readings. Only paths are read here, never values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from django.db.models import F, QuerySet

from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import Certainty
from applyviz.records.enums import EntryState
from applyviz.records.models import JournalEntry, ObjectChange, Review
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.scopes import ScopeEntry

MOST_READINGS = 60
MOST_HANDOVERS = 50
_SECOND = timedelta(seconds=1)
_LAST_APPLIED = ("f:metadata", "f:annotations", "f:kubectl.kubernetes.io/last-applied-configuration")
# Group, kind, namespace, name: `ObjectRef.key`.
Key: TypeAlias = tuple[str, str, str, str]


class FieldOwner(NamedTuple):
    """One field owner over API versions and times."""

    manager: str
    operation: str
    subresource: str = ""


class Source(StrEnum):
    """The source of a reading."""

    PLAN = "plan"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Observation:
    """The owners of an object as they were read once; `entries` are raw managedFields, None: there was no object.

    - `review`, `plan` and `position` name the object change, `run` the apply run that got this answer.
    """

    at: datetime
    source: Source
    entries: JSONValue
    review: int
    plan: int
    position: int
    run: int | None = None


@dataclass(frozen=True, slots=True)
class OwnershipSpan:
    """How many fields an owner has after a moment, and how many it got and gave up in it."""

    owner: FieldOwner
    fields: int
    gained: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """One field whose owners changed; nobody before: the field is new to all, nobody after: no one owns it now."""

    path: str
    before: tuple[FieldOwner, ...]
    after: tuple[FieldOwner, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """When owners changed: at `at`, seen by `reading`, not yet so at `since` (None: nothing was read before).

    - `handovers` are the first of `handover_count`, in path order.
    """

    at: datetime
    since: datetime | None
    reading: Observation
    is_there: bool
    holdings: tuple[OwnershipSpan, ...]
    handovers: tuple[OwnerChange, ...]
    handover_count: int


@dataclass(frozen=True, slots=True)
class OwnershipPeriod:
    """An owner from the moment it had a field until it had none; `until` None: it has some in the last reading."""

    owner: FieldOwner
    since: datetime
    until: datetime | None
    most: int


@dataclass(frozen=True, slots=True)
class OwnersOverTime:
    """Moments newest first, ownership periods oldest first; `is_cut` says that older readings were left out."""

    moments: tuple[Moment, ...] = ()
    periods: tuple[OwnershipPeriod, ...] = ()
    readings: int = 0
    is_cut: bool = False


class _Owned(NamedTuple):
    """Return the owners in one reading."""

    paths: Mapping[FieldOwner, frozenset[FieldPath]]
    times: Mapping[FieldOwner, datetime]


def _read(reading: Observation) -> _Owned:
    paths: dict[FieldOwner, frozenset[FieldPath]] = {}
    times: dict[FieldOwner, datetime] = {}
    for entry in read_owners({"metadata": {"managedFields": reading.entries or []}}).entries:
        owner = FieldOwner(entry.owner.manager, entry.owner.operation, entry.owner.subresource)
        owned = frozenset(path for path in entry.fields if path != _LAST_APPLIED)
        if not owned:
            continue
        paths[owner] = paths.get(owner, frozenset()) | owned
        if entry.owner.time:
            at = datetime.fromisoformat(entry.owner.time)
            times[owner] = max(at, times.get(owner, at))
    return _Owned(paths, times)


def _owners(owned: _Owned, path: FieldPath) -> tuple[FieldOwner, ...]:
    return tuple(sorted(owner for owner, paths in owned.paths.items() if path in paths))


def _find_moved(before: _Owned, after: _Owned) -> list[FieldPath]:
    moved: set[FieldPath] = set()
    for owner in before.paths.keys() | after.paths.keys():
        moved |= before.paths.get(owner, frozenset()) ^ after.paths.get(owner, frozenset())
    return sorted(moved, key=render_path)


def _hold(before: _Owned, after: _Owned) -> Iterator[OwnershipSpan]:
    for owner in sorted(before.paths.keys() | after.paths.keys()):
        had, has = before.paths.get(owner, frozenset()), after.paths.get(owner, frozenset())
        yield OwnershipSpan(owner, len(has), len(has - had), len(had - has))


def _date(before: _Owned, after: _Owned, reading: Observation, since: datetime | None) -> datetime:
    """When fields changed hands, as the entries of those who got some say, else when that was seen."""
    gained = [o for o, paths in after.paths.items() if paths - before.paths.get(o, frozenset())]
    # Times of entries are whole seconds.
    times = [at for owner in gained if (at := after.times.get(owner)) and (since is None or at > since - _SECOND)]
    return min(max(times), reading.at) if times else reading.at


def _make_moment(before: _Owned, after: _Owned, reading: Observation, since: datetime | None) -> Moment | None:
    """Return the changes between two readings; for the first reading, everything it found."""
    moved = _find_moved(before, after)
    if not moved and since is not None:
        return None
    told = moved if since is not None else []
    return Moment(
        at=_date(before, after, reading, since),
        since=since,
        reading=reading,
        is_there=reading.entries is not None,
        holdings=tuple(_hold(before if since is not None else after, after)),
        handovers=tuple(
            OwnerChange(render_path(p), _owners(before, p), _owners(after, p)) for p in told[:MOST_HANDOVERS]
        ),
        handover_count=len(told),
    )


def _find_periods(moments: Sequence[Moment]) -> tuple[OwnershipPeriod, ...]:
    """From moments, oldest first: in their order, since managedFields tell times by the second only."""
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
    """The moments at which owners changed, and who owned something from when to when; pure.

    - What the first reading found stands there as a moment without handovers.
    """
    moments: list[Moment] = []
    before, since = _Owned({}, {}), None
    for reading in sorted(readings, key=lambda one: (one.at, one.source is Source.RUN)):
        after = _read(reading)
        moment = _make_moment(before, after, reading, since)
        if moment is not None:
            moments.append(moment)
        before, since = after, reading.at
    return OwnersOverTime(tuple(reversed(moments)), _find_periods(moments), len(readings), is_cut)


def _columns(key: Key, prefix: str = "") -> dict[str, str]:
    names = ("group", "kind", "namespace", "name")
    return {f"{prefix}{name}": value for name, value in zip(names, key, strict=True)}


def _read_plans(cluster: str, key: Key, seen: QuerySet[Review], most: int) -> Iterator[Observation]:
    found = ObjectChange.objects.filter(
        **_columns(key), plan__target__cluster__slug=cluster, plan__review__in=seen, plan__completed_at__isnull=False
    )
    # Of an unknown change nothing was read.
    found = found.exclude(certainty=Certainty.UNKNOWN)
    rows = found.order_by("-plan__created_at", "-id").values_list(
        "plan__created_at",
        F("document__versions__live__kind"),
        F("document__versions__live__metadata__managedFields"),
        "plan__review__number",
        "plan__number",
        "position",
    )
    for at, kind, entries, review, plan, position in rows[:most]:
        yield Observation(at, Source.PLAN, None if kind is None else entries or [], review, plan, position)


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
        F("answer__metadata__managedFields"),
        "result__run__plan__review__number",
        "result__run__plan__number",
        "result__position",
        "result__run__number",
    )
    for at, method, entries, review, plan, position, run in rows[:most]:
        gone = method == "DELETE"
        yield Observation(at, Source.RUN, None if gone else entries or [], review, plan, position, run)


def owners_of(cluster: str, key: Key, *, for_user: Visitor, most: int = MOST_READINGS) -> OwnersOverTime:
    """The owners of an object's fields over time, by the plans and runs that this person sees.

    - `key` is (group, kind, namespace, name), as `ObjectRef.key` has it; `cluster` is a slug.
    - `most` bounds how many plans and how many answers of runs are looked at, the newest of each.
    """
    access.require(for_user, Action.VIEW, [ScopeEntry(cluster, key[2])])
    seen = Review.objects.filter(access.select_reviews(for_user))
    plans = list(_read_plans(cluster, key, seen, most + 1))
    runs = list(_read_runs(cluster, key, seen, most + 1))
    is_cut = len(plans) > most or len(runs) > most
    readings = [*plans[:most], *runs[:most]]
    if is_cut:
        # Where one sort of reading was cut, older ones of the other would tell half of the story.
        start = max(part[most - 1].at for part in (plans, runs) if len(part) > most)
        readings = [reading for reading in readings if reading.at >= start]
    return compute_owners(readings, is_cut=is_cut)
