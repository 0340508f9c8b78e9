"""Compute managedFields after a create, an update, or a patch of any type but apply.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management. The writer owns the fields
that it changed, and the other managers lose them. managedFields sent by the client count unless they are absent or
unreadable; `[]` and `[{}]` clear them; through a subresource they never count. An existing object without entries stays
without: tracking begins with a create or with the first apply.
"""

from __future__ import annotations

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.ownership.bookkeeping import Bookkeeper
from applyviz.engine.ownership.managed_fields import Managed, decode, encode, find_entries, keep_entries, with_entries
from applyviz.engine.schema.model import KindSchema


def _decode_or_nothing(entries: list[JSONObject] | None, memo: FieldSetMemo | None) -> Managed:
    try:
        return decode(entries or (), memo)
    except OwnershipError:
        return Managed()


def _is_reset(entries: list[JSONObject] | None) -> bool:
    """Return whether the client asks to clear managedFields: an empty list, or one empty entry."""
    if entries is None:
        return False
    return not entries or (len(entries) == 1 and not any(_says(v) for v in entries[0].values()))


def _says(value: object) -> bool:
    return value is not None and value != ""


def _choose_entries(live: JSONObject, new: JSONObject, subresource: str, memo: FieldSetMemo | None) -> Managed:
    if subresource:
        return _decode_or_nothing(find_entries(live), memo)
    sent = find_entries(new)
    if _is_reset(sent):
        return Managed()
    managed = _decode_or_nothing(sent, memo)
    return managed if managed.owned else _decode_or_nothing(find_entries(live), memo)


def update(
    live: JSONObject | None,
    new: JSONObject,
    *,
    kind: KindSchema,
    manager: str,
    subresource: str = "",
    now: str,
    memo: FieldSetMemo | None = None,
) -> list[MutableObject]:
    """Return managedFields of the object `new` after a write; `live` is None for a create.

    - `now`: RFC 3339 time of the write; `memo` caches parsed entries across calls.
    - Raises `OwnershipError` if an object does not fit its schema (the API server then drops the entries).
    """
    before = live if live is not None else kind.zero
    managed = _choose_entries(before, new, subresource, memo)
    if not managed.owned and get_at(before, ("metadata", "uid")):
        return []
    keeper = Bookkeeper(kind, subresource, memo)
    try:
        entries = encode(keeper.book_update(before, with_entries(new, None), managed, manager, now), memo)
    except RecursionError:
        raise OwnershipError("the object is nested too deeply", 400) from None
    return keep_entries(entries, find_entries(before))
