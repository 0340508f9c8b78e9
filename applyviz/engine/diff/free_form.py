"""Compare two values without a schema, such as settings, options or the rules of a policy.

Lists are compared by position. DeepDiff does the comparison; the differences are sorted by path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.walk import MISSING


class FreeDifference(Struct, frozen=True):
    """One value that differs; a side without a value is `MISSING`. `path` consists of keys and positions."""

    path: tuple[str | int, ...]
    before: JSONValue
    after: JSONValue

    @property
    def name(self) -> str:
        """The path as text: `prune.allowlist[2]`."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return text.removeprefix(".")


def _list_differences(before: JSONValue, after: JSONValue) -> Iterator[FreeDifference]:
    from deepdiff import DeepDiff  # noqa: PLC0415  # slow import
    from deepdiff.helper import NotPresent  # noqa: PLC0415  # as above

    def side(value: Any) -> Any:
        return MISSING if isinstance(value, NotPresent) or value is NotPresent else value

    found = DeepDiff(before, after, view="tree", zip_ordered_iterables=True, threshold_to_diff_deeper=0)
    for levels in found.values():
        for level in levels:
            yield FreeDifference(tuple(level.path(output_format="list")), side(level.t1), side(level.t2))


def diff_free(before: JSONValue, after: JSONValue) -> tuple[FreeDifference, ...]:
    """Return every value that differs, down to where both sides have the same shape."""
    found = _list_differences(before, after)
    return tuple(sorted(found, key=lambda one: [str(step).zfill(8) for step in one.path]))
