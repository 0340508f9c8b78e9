"""The rows that one transaction of a sandbox read and wrote, kept in memory until its end.

A transaction holds the write lock of its sandbox, so its reads stay true, and no other transaction sees its
writes before it ends. Each object is opened once and each row is written once, however often controllers look at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, clone
from applyviz.sandbox.storage.store import ObjectKey, StoredChange

Listing = tuple[str, str, str | None]
"""A list that was read: group, plural, and namespace or None for all."""


@dataclass(slots=True)
class PendingRows:
    """The rows of one sandbox that a transaction holds; `written` ones differ from the database.

    - `is_new`: nothing was ever written before, so there is nothing to read.
    """

    revision: int
    compacted: int
    objects: dict[ObjectKey, JSONObject | None] = field(default_factory=dict)
    written: set[ObjectKey] = field(default_factory=set)
    listed: set[Listing] = field(default_factory=set)
    values: dict[str, JSONValue] = field(default_factory=dict)
    written_values: set[str] = field(default_factory=set)
    changes: list[StoredChange] = field(default_factory=list)
    is_new: bool = False

    def copy(self) -> PendingRows:
        """Return a copy, to which a failed inner transaction returns."""
        return replace(
            self,
            objects=dict(self.objects),
            written=set(self.written),
            listed=set(self.listed),
            values=dict(self.values),
            written_values=set(self.written_values),
            changes=list(self.changes),
        )

    def learn(self, listing: Listing, found: Iterable[tuple[ObjectKey, JSONObject]]) -> None:
        """Keep a list as it was read; what was written since stays."""
        for key, obj in found:
            self.objects.setdefault(key, obj)
        self.listed.add(listing)

    def knows(self, listing: Listing) -> bool:
        """Return whether a list was read before, itself or within all namespaces, or is known to have been empty."""
        return self.is_new or listing in self.listed or (*listing[:2], None) in self.listed

    def list(self, listing: Listing) -> Sequence[JSONObject]:
        """Return the objects of a known list by namespace and name."""
        group, plural, namespace = listing
        keys = [
            k
            for k, obj in self.objects.items()
            if obj is not None and k.plural == plural and k.group == group and namespace in (None, k.namespace)
        ]
        return [obj for k in sorted(keys) if (obj := self.objects[k]) is not None]

    def put(self, key: ObjectKey, obj: JSONObject | None) -> None:
        """Write a copy of an object; None removes it."""
        self.objects[key] = clone(dict(obj)) if obj is not None else None
        self.written.add(key)

    def put_value(self, name: str, value: JSONValue) -> None:
        """Write a small value."""
        self.values[name] = clone(value)
        self.written_values.add(name)

    def keep_change(self, change: StoredChange) -> None:
        """Keep the present state of a change."""
        self.changes.append(change._replace(after=clone(change.after)))
