"""The database column of sealed content; it returns `Sealed`, never the content itself.

Content is bound to its location: the table, the column, and the columns that name the row to everything that uses it.
Those are never changed after the row was made. They are a natural key, not the number of the row, because rights and
requests go by them: a credential opens only for the cluster, repository or object that it was entered for.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.query_utils import DeferredAttribute

from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.sealing import Sealed, Unsealed

if TYPE_CHECKING:
    _Column = models.BinaryField[Any, Any]
else:
    _Column = models.BinaryField


def _plain(value: JSONValue | datetime) -> JSONValue:
    return value.astimezone(UTC).isoformat(timespec="microseconds") if isinstance(value, datetime) else value


class _SealedAttribute(DeferredAttribute):
    """Seals content for its row when it is first read there, and gives stored content the location of its row."""

    field: SealedField

    def __get__(self, instance: models.Model | None, cls: type[models.Model] | None = None) -> object:
        if instance is None:
            return self
        value = super().__get__(instance, cls)
        if isinstance(value, Unsealed):
            # Kept: the bytes that are stored are those that a MAC covers.
            value = instance.__dict__[self.field.attname] = value.seal(self.field.locate(instance))
        elif isinstance(value, Sealed) and value.location is None and self.field.may_locate(instance):
            # Kept, too: the columns that name a row never change, and a run asks ten times for each object.
            value = instance.__dict__[self.field.attname] = replace(value, location=self.field.locate(instance))
        return value

    def __set__(self, instance: models.Model, value: object) -> None:
        # The location of another row never comes along: content opens only where it was sealed for.
        of_any = Sealed(value.token) if isinstance(value, Sealed) else value
        instance.__dict__[self.field.attname] = of_any


class SealedField(_Column):
    """A column of sealed bytes; `bound_to` are the columns that name the row."""

    description = "Sealed content"
    descriptor_class = _SealedAttribute

    def __init__(self, *, null: bool = False, bound_to: tuple[str, ...] = ()) -> None:
        super().__init__(null=null)
        self.bound_to = bound_to

    def may_locate(self, row: models.Model) -> bool:
        """Return whether the columns that name a row were read."""
        return all(name in row.__dict__ for name in self.bound_to)

    def locate(self, row: models.Model) -> str:
        """Return the location of this column of a row; raises `ValueError` while the row has no name."""
        named = [_plain(getattr(row, name)) for name in self.bound_to]
        if None in named:
            raise ValueError(f"{self.model._meta.db_table}.{self.name} is bound to {', '.join(self.bound_to)}")
        return canonical_json([self.model._meta.db_table, str(self.column), *named])

    def from_db_value(
        self, value: bytes | memoryview | None, expression: object, connection: BaseDatabaseWrapper
    ) -> Sealed | None:
        """Return the database value as `Sealed`, without opening it."""
        return None if value is None else Sealed(bytes(value))

    def to_python(self, value: object) -> Sealed | None:
        """Return a `Sealed` unchanged; plain bytes are never wrapped silently."""
        if value is None or isinstance(value, Sealed):
            return value
        raise TypeError(f"{self.name}: expected Sealed, got {type(value).__name__}")

    def get_db_prep_value(self, value: object, connection: BaseDatabaseWrapper, prepared: bool = False) -> object:
        """Return the sealed bytes for the database."""
        sealed = self.to_python(value)
        return None if sealed is None else super().get_db_prep_value(sealed.token, connection, prepared)

    def value_to_string(self, obj: models.Model) -> str:
        """Return empty text: dumps contain no sealed content."""
        raise TypeError(f"{self.name} is sealed and is not serialised")


def seal_for(row: models.Model, name: str, content: Unsealed) -> Sealed:
    """Return content sealed for one column of a row, for an update that does not go through the row."""
    field = row._meta.get_field(name)
    if not isinstance(field, SealedField):
        raise TypeError(f"{name} is not sealed")
    return content.seal(field.locate(row))
