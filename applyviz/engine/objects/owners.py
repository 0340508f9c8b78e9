"""The owner of a field: one entry of managedFields, without its fields.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (field management). A field
manager is always shown with its operation; `Apply` and `Update` entries of one name are two owners.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

OwnerIdentity: TypeAlias = tuple[str, str, str]
"""Manager, operation and subresource: the same owner at another version and time."""


class Owner(Struct, frozen=True):
    """One field owner: manager name, operation (Apply or Update), version, subresource, time."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""
    time: str = ""

    @property
    def identity(self) -> OwnerIdentity:
        """Return what identifies the same owner in another version of the object."""
        return self.manager, self.operation, self.subresource


def describe_write(operation: str, subresource: str) -> str:
    """Return how an owner writes: its operation, with the subresource that it goes through."""
    return f"{operation} · {subresource}" if subresource else operation


def name_owner(manager: str, subresource: str, *, operation: str = "", you: str = "") -> str:
    """Return a field manager with the subresource that it wrote through: `kubectl (scale)`, an autoscaler's write.

    - The manager that applies, `you`, is another owner by another operation, so this is named: `applyviz (Update)`.
    """
    name, what = manager or "unknown", subresource or (operation if manager == you else "")
    return f"{name} ({what})" if what else name
