"""Track when the grace periods of deleted Pods end, which their kubelets would wait for.

Rule: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination. No process waits: the store
keeps the end of each period, and the first request after it acts on it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from applyviz.sandbox.storage.store import ObjectKey, Store

_ENDS = "grace-ends"
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def shift(moment: str, seconds: int) -> str:
    """Return a time of metadata plus some seconds."""
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).astimezone(UTC).strftime(_FORM)


def note_end(store: Store, key: ObjectKey, end: str) -> None:
    """Record when the grace period of an object ends; must be inside a transaction."""
    kept = [e for e in _read(store) if tuple(e[1:]) != key]
    store.put_meta(_ENDS, sorted([*kept, [end, *key]]))


def has_ended(store: Store, now: datetime) -> bool:
    """Return whether a grace period is over by the clock."""
    text = now.astimezone(UTC).strftime(_FORM)
    return any(end <= text for end, *_ in _read(store))


def take_ended(store: Store, now: datetime) -> list[ObjectKey]:
    """Return and forget the objects whose grace periods are over; must be inside a transaction."""
    text, ends = now.astimezone(UTC).strftime(_FORM), _read(store)
    store.put_meta(_ENDS, [e for e in ends if e[0] > text])
    return [ObjectKey(*entry) for end, *entry in ends if end <= text]


def _read(store: Store) -> list[list[str]]:
    stored = store.get_meta(_ENDS)
    return list(stored) if isinstance(stored, list) else []
