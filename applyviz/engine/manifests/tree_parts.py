"""The state of the YAML reader: the finished tree, open frames, anchors, and the alias budget.

The budget is that of go.yaml.in/yaml/v2, so that what kubectl calls "excessive aliasing" is refused here
and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from applyviz.engine.manifests.documents import DuplicateKey, PositionTree, Retyped
from applyviz.engine.manifests.scalars import Scalar
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.values import JSONValue

# A placeholder for a key that JSON cannot have, until it is known whether anything remains of its mapping.
UNUSABLE_KEY = "\x00unusable"


@dataclass(eq=False)
class FlowColonError(ManifestError):
    """libyaml refuses a colon in a flow collection that Go's library takes for text."""

    offset: int = 0


@dataclass(eq=False)
class TagIndicatorError(ManifestError):
    """libyaml ends a tag at `,`, `[` or `]`, which Go's library allows in it; the tag starts at `offset`."""

    offset: int = 0


class Tree(Struct, frozen=True):
    """The value of a document, with the observations of the reader; None for an empty document."""

    value: JSONValue = None
    positions: PositionTree = 0
    retyped: tuple[Retyped, ...] = ()
    duplicates: tuple[DuplicateKey, ...] = ()


@dataclass(slots=True)
class Anchored:
    """The value that an alias refers to.

    `size` is what one decoding of it costs Go's library; it `is_open` while its own entries are still being read: an
    alias inside it would contain itself.
    """

    scalar: Scalar | None = None
    value: JSONValue = None
    positions: Any = None
    size: int = 1
    is_open: bool = False


@dataclass(slots=True)
class Frame:
    """One open list or mapping; `key` waits for its value, `is_merge` when that key is `<<`.

    - `key_tags`: the tags of keys that YAML does not read as text.
    """

    value: Any
    positions: Any
    is_map: bool
    mark: int
    count_before: int
    anchored: Anchored | None
    is_flow: bool
    key: str | None = None
    key_mark: int = 0
    is_merge: bool = False
    merged: set[str] | None = None
    merge_items: list[Anchored] | None = None
    key_tags: dict[str, str] | None = None


def holds_unusable(value: JSONValue) -> bool:
    """Return whether a value contains NaN, an infinity or an unusable key."""
    if isinstance(value, dict):
        return UNUSABLE_KEY in value or any(holds_unusable(v) for v in value.values())
    if isinstance(value, list):
        return any(holds_unusable(v) for v in value)
    return isinstance(value, float) and not math.isfinite(value)


def allowed_alias_share(count: int) -> float:
    """Return the share of decoding steps that aliases may cause: 99 % up to 400,000, 10 % from 4,000,000 on."""
    low, high = 400_000, 4_000_000
    if count <= low:
        return 0.99
    return 0.10 if count >= high else 0.99 - 0.89 * ((count - low) / (high - low))
