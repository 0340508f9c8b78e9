"""Index objects by their owners in the store, so that finding dependents does not read every object.

Rule: `metadata.ownerReferences`, https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.values import JSONObject
from applyviz.sandbox.storage.store import ObjectKey, Store, StoredChange

_INDEX = "dependents"


def list_owners(obj: JSONObject | None) -> list[JSONObject]:
    """Return the owner references of an object."""
    return list((obj or {}).get("metadata", {}).get("ownerReferences") or ())


def index_change(store: Store, change: StoredChange) -> None:
    """Update the index after a write; must be inside the transaction of the write."""
    before, after = ({str(o.get("uid")) for o in list_owners(obj)} for obj in (change.before, change.after))
    if before == after:
        return
    index, entry = _read(store), list(change.key)
    for uid in before - after:
        index[uid] = [e for e in index.get(uid, ()) if e != entry]
    for uid in after - before:
        index[uid] = sorted([*(e for e in index.get(uid, ()) if e != entry), entry])
    store.put_meta(_INDEX, {uid: entries for uid, entries in index.items() if entries})


def list_dependents(store: Store, uid: str) -> list[tuple[ObjectKey, JSONObject]]:
    """Return the objects that reference an owner, by their keys."""
    keys = [ObjectKey(*entry) for entry in _read(store).get(uid, ())]
    return [(key, stored) for key in keys if (stored := store.get(key)) is not None]


def _read(store: Store) -> dict[str, list[list[str]]]:
    stored = store.get_meta(_INDEX)
    return dict(stored) if isinstance(stored, Mapping) else {}
