"""Remember which names of fields show nothing that is masked: those of the next object are then shown unchanged.

The versions of one object, and similar objects of a set, have the same owners of the same fields. The mask of names
depends on the kind, the policy and the names alone (`entry_names`), so one answer serves all of them. Only names
in which nothing is masked are remembered, so no secret is.
"""

from __future__ import annotations

from typing import TypeAlias

from applyviz.engine.diff.mask_policy import MaskPolicy
from applyviz.engine.objects.json_text import write_json
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject

NamesKey: TypeAlias = "tuple[GroupVersionKind | None, MaskPolicy, bytes]"

_MOST, _LONGEST = 1024, 16_384
_plain: dict[NamesKey, None] = {}


def make_key(
    names: JSONObject, gvk: GroupVersionKind | None, policy: MaskPolicy, claimed: JSONObject | None = None
) -> NamesKey | None:
    """Return all that the mask of names depends on; None for names that are never remembered.

    - `claimed`: the `apiVersion` and `kind` of the object.
    """
    try:
        written = write_json([claimed, names])
    except (TypeError, UnicodeError):  # an integer that no float represents, or half a surrogate pair
        return None
    return (gvk, policy, written) if len(written) <= _LONGEST else None


def are_plain(key: NamesKey | None) -> bool:
    """Return whether these names are known to show nothing that is masked."""
    return key in _plain


def remember(key: NamesKey | None) -> None:
    """Remember names in which nothing is masked."""
    if key is None:
        return
    if len(_plain) >= _MOST:
        _plain.clear()
    _plain[key] = None
