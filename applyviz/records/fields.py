"""The database column of sealed content; it returns `Sealed`, never the content itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from applyviz.records.sealing import Sealed

if TYPE_CHECKING:
    _Column = models.BinaryField[Any, Any]
else:
    _Column = models.BinaryField


class SealedField(_Column):
    """A column of sealed bytes."""

    description = "Sealed content"

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Sealed | None:
        """Return the database value as `Sealed`, without opening it."""
        return None if value is None else Sealed(bytes(value))

    def to_python(self, value: Any) -> Any:
        """Return a `Sealed` unchanged; plain bytes are never wrapped silently."""
        if value is None or isinstance(value, Sealed):
            return value
        raise TypeError(f"{self.name}: expected Sealed, got {type(value).__name__}")

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        """Return the sealed bytes for the database."""
        sealed = self.to_python(value)
        return None if sealed is None else super().get_db_prep_value(sealed.token, connection, prepared)

    def value_to_string(self, obj: models.Model) -> str:
        """Return empty text: dumps contain no sealed content."""
        raise TypeError(f"{self.name} is sealed and is not serialised")
