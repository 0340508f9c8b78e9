"""Determine the outcome of each object of one recorded kubectl invocation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.conformance.planchecks import Truth
from applyviz.conformance.recorded import RecordedKey, key_of
from applyviz.conformance.stories import Invocation, StoryExchange, StoryStep
from applyviz.engine.objects.exchange import JSON_PATCH
from applyviz.engine.objects.values import get_at, is_same_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.migrate import LAST_APPLIED_MANAGER
from applyviz.engine.schema.model import Resource
from applyviz.sandbox.storage.routing import parse_path


class Turn(Struct, frozen=True):
    """The index of a change among several of one object, from 0: the parent of an ApplySet is written twice."""

    number: int = 0
    count: int = 1


class Truths:
    """The outcome of each object of an invocation, from its exchanges."""

    def __init__(self, step: StoryStep, invocation: Invocation) -> None:
        self._step = step
        self._writes: dict[RecordedKey, list[StoryExchange]] = {}
        for exchange in invocation.exchanges:
            route = parse_path(exchange.path)
            if route is None or not exchange.is_write:
                continue
            name = get_at(exchange.body, ("metadata", "name"), "") if not route.name else ""
            self._writes.setdefault(key_of(route, name), []).append(exchange)

    @property
    def written(self) -> set[RecordedKey]:
        """The objects with writes, successful or not."""
        return set(self._writes)

    def is_refused(self, key: RecordedKey) -> bool:
        """Return whether every write to an object was refused."""
        return not any(e.answer.is_ok for e in self._writes[key])

    def find_key(self, change: PlannedObject, resource: Resource | None) -> RecordedKey:
        """Return the key of a planned object; an object of an unknown kind is found by its name."""
        ref = change.ref
        if resource is not None:
            return RecordedKey(ref.gvk.group, resource.plural, ref.namespace, ref.name)
        same = (k for k in self._writes if (k.group, k.name) == (ref.gvk.group, ref.name))
        return next(same, RecordedKey(ref.gvk.group, "", ref.namespace, ref.name))

    def find(self, key: RecordedKey, change: PlannedObject, turn: Turn) -> Truth | None:
        """Return the outcome of an object; None if the recording does not show it."""
        live, writes = change.versions.live, self._writes.get(key, [])
        if not writes:
            is_unchanged = f"{change.ref.name} unchanged" in self._step.stdout
            return Truth(live, live) if is_unchanged else None
        ok = [e for e in writes if e.answer.is_ok]
        if not ok:
            return None if self._lacks_what_the_set_makes(writes) else Truth(live, live, refusal=writes[-1].answer)
        if any(e.method == "DELETE" for e in ok):
            return self._read_deletion(change, writes)
        if len(ok) > 1 and ok[0].query.get("dryRun"):
            return None  # several dry runs do not build on each other
        if turn.count > 1:
            return Truth(live, _take(ok, turn).answer.body)
        if _is_named_twice(ok):
            return Truth(live, _last_of_first(ok).answer.body)
        # After a migration that kubectl could not finish, the owners are those in between.
        is_half = not writes[-1].answer.is_ok and any(e.content_type == JSON_PATCH for e in ok)
        # In a dry run kubectl does not try to move ownership.
        is_half = is_half or (bool(writes[-1].query.get("dryRun")) and len(change.requests) > 1)
        return Truth(live, ok[-1].answer.body, is_half_migrated=is_half)

    def _lacks_what_the_set_makes(self, writes: Sequence[StoryExchange]) -> bool:
        """Return whether a dry run was refused only because objects of the same set did not exist yet."""
        namespaces = {k.name for k in self._writes if (k.group, k.plural) == ("", "namespaces")}
        return writes[-1].query.get("dryRun") == "All" and any(
            f'namespaces "{name}" not found' == writes[-1].answer.message for name in namespaces
        )

    def _read_deletion(self, change: PlannedObject, writes: Sequence[StoryExchange]) -> Truth:
        last = max(n for n, e in enumerate(writes) if e.method == "DELETE" and e.answer.is_ok)
        live, after = change.versions.live, writes[last + 1 :]
        if not after:
            # kubectl gave up waiting for a finalizer or a node to release the object.
            is_cut = change.operation is Operation.REPLACE and "deadline exceeded" in self._step.stderr
            return Truth(live, None, is_deleted=not is_cut, is_cut=is_cut)
        if not after[0].answer.is_ok:  # the previous object is restored
            return Truth(live, live, refusal=after[0].answer)
        return Truth(live, after[-1].answer.body, is_recreated=True)


def _last_of_first(ok: Sequence[StoryExchange]) -> StoryExchange:
    """Return the last write for the first of two manifests of one object."""
    first, found = ok[0], ok[0]
    for exchange in ok:
        if _is_own(exchange) and not is_same_json(first.body, exchange.body):
            break
        found = exchange
    return found


def _is_own(exchange: StoryExchange) -> bool:
    """Return whether a write sends a manifest, not a step of a migration."""
    return exchange.content_type != JSON_PATCH and exchange.query.get("fieldManager") != LAST_APPLIED_MANAGER


def _is_named_twice(ok: Sequence[StoryExchange]) -> bool:
    """Return whether the set contains one object twice: the plan takes the first, and reports the other."""
    own = [e for e in ok if _is_own(e)]
    return any(not is_same_json(own[0].body, e.body) for e in own[1:])


def _take(ok: Sequence[StoryExchange], turn: Turn) -> StoryExchange:
    return ok[-1] if turn.number == turn.count - 1 else ok[turn.number]
