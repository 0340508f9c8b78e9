"""Watch a collection: return the changes since a revision, as the events that the server streams.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes. A watch is read in
steps: each returns the events since the previous step and the position to continue from, so that any process may read
the next step and no state is kept in between. Left out: the deprecated paths below `/api/v1/watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from applyviz.engine.objects.golang import is_digits
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.kubernetes.parity.go_types import zero_struct
from applyviz.kubernetes.parity.status import StatusError, method_not_supported
from applyviz.sandbox.api.list_options import check_watch_options, is_set, read_number, read_selection
from applyviz.sandbox.api.reads import select_at_revision
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.store import StoredChange

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
_INT64, _UINT64_DIGITS = 2**63 - 1, 20
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


class WatchEvent(Struct, frozen=True):
    """One event; `object` has apiVersion and kind, and is a `Status` for an error."""

    type: str
    object: JSONObject


class WatchStep(Struct, frozen=True):
    """The events since a position, and the position to continue from; `is_ended`: nothing can follow.

    - `warnings`: what the server says of the resource when a watch begins.
    """

    events: tuple[WatchEvent, ...]
    position: int
    is_ended: bool = False
    warnings: tuple[str, ...] = ()


def has_bookmarks(query: Mapping[str, str]) -> bool:
    """Return whether the client of a watch asked for bookmarks."""
    return is_set(query, "allowWatchBookmarks")


def read_timeout(query: Mapping[str, str], most: float) -> float:
    """Return how many seconds a watch stays open: the client's request, limited by the maximum.

    - Raises `StatusError` (400).
    """
    wanted = read_number(query, "timeoutSeconds")
    return min(float(wanted), most) if wanted > 0 else most


def start_watch(cluster: SandboxCluster, target: ResourceTarget, namespace: str, query: Mapping[str, str]) -> WatchStep:
    """Return the first step: the current state for a new client, else the changes that it missed.

    - Raises `StatusError` for contradicting options, invalid selectors, and resources that cannot be watched.
    """
    check_watch_options(target, query)
    if target.struct is not None and "watch" not in target.resource.verbs:
        raise method_not_supported(target.group, target.plural, "watch")
    since, is_initial = _read_revision(query.get("resourceVersion", "")), is_set(query, "sendInitialEvents")
    if not is_initial and (since or "sendInitialEvents" in query):
        return continue_watch(cluster, target, namespace, query, since or cluster.store.revision())
    items, revision = select_at_revision(cluster, target, namespace, read_selection(target, query))
    events = [WatchEvent(ADDED, _typed(target, o)) for o in items]
    if has_bookmarks(query):
        events.append(bookmark(target, revision, is_initial_end=True))
    return WatchStep(tuple(events), revision)


def continue_watch(
    cluster: SandboxCluster, target: ResourceTarget, namespace: str, query: Mapping[str, str], since: int
) -> WatchStep:
    """Return the events after a revision; an error and the end if the changes since then are compacted."""
    is_chosen = read_selection(target, query)
    reached = max(since, cluster.store.revision())  # read first: nothing up to it is committed later
    changes = cluster.store.list_changes(since, target.group, target.plural, namespace or None)
    if changes is None:
        error = StatusError(410, "Expired", f"too old resource version: {since} ({cluster.store.revision()})")
        return WatchStep((WatchEvent(ERROR, error.render()),), since, is_ended=True)
    events = [event for c in changes if (event := _find_event(cluster, target, c, is_chosen)) is not None]
    return WatchStep(tuple(events), max(reached, changes[-1].revision) if changes else reached)


def bookmark(target: ResourceTarget, revision: int, *, is_initial_end: bool = False) -> WatchEvent:
    """Return a bookmark: an empty object with the revision that the watch has reached."""
    meta: MutableObject = {"resourceVersion": str(revision)}
    if is_initial_end:
        meta["annotations"] = dict(_INITIAL_END)
    empty = zero_struct(target.struct) if target.struct is not None else {}
    empty.pop("metadata", None)
    return WatchEvent(BOOKMARK, _typed(target, {"metadata": meta, **empty}))


def _find_event(
    cluster: SandboxCluster, target: ResourceTarget, change: StoredChange, is_chosen: Callable[[MutableObject], bool]
) -> WatchEvent | None:
    """Return the event of a change under selectors: an object may start or stop matching."""
    before = cluster.read(target, change.before) if change.before is not None else None
    after = cluster.read(target, change.after) if change.after is not None else None
    was_seen, is_seen = before is not None and is_chosen(before), after is not None and is_chosen(after)
    if after is not None and is_seen:
        return WatchEvent(MODIFIED if was_seen else ADDED, _typed(target, after))
    if before is None or not was_seen:
        return None
    last: MutableObject = {**before, "metadata": {**before["metadata"], "resourceVersion": str(change.revision)}}
    return WatchEvent(DELETED, _typed(target, last))


def _typed(target: ResourceTarget, obj: JSONObject) -> JSONObject:
    return {"kind": target.gvk.kind, "apiVersion": target.gvk.api_version, **obj}


def _read_revision(text: str) -> int:
    """Return a revision; one that this server never reaches is the greatest that its storage can hold."""
    reason = "invalid syntax"
    if not text or is_digits(text):
        digits = text.lstrip("0")
        if len(digits) <= _UINT64_DIGITS and int(digits or 0) <= 2 * _INT64 + 1:
            return min(int(digits or 0), _INT64)
        reason = "value out of range"
    detail = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {reason}'
    raise StatusError(500, "", f"resourceVersion: {detail}")
