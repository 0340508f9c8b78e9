"""Change records: they are structs of `msgspec`, or dataclasses where equality or the text leaves out a field."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    # The type checker knows the fields that this one may be given, and their types.
    from dataclasses import replace
else:
    import dataclasses

    from msgspec import Struct, structs

    _T = TypeVar("_T")

    def replace(value: _T, /, **changes: object) -> _T:
        """Return a value with some fields changed; raises `TypeError` for a field that its class does not have."""
        if isinstance(value, Struct):
            return structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)


__all__ = ["replace"]
