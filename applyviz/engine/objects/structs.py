"""Copy a record with changes: a struct of `msgspec`, or a dataclass that leaves a field out of its repr or equality."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    # Type checkers check the names and types of its fields.
    from dataclasses import replace
else:
    import dataclasses

    from msgspec import Struct, structs

    _T = TypeVar("_T")

    def replace(value: _T, /, **changes: object) -> _T:
        """Return a copy with some fields changed; raises `TypeError` for a field that its class does not have."""
        if isinstance(value, Struct):
            return structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)


__all__ = ["replace"]
