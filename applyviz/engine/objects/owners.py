"""The owner of a field: one entry of managedFields, without its fields.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (field management). A field
manager is always shown with its operation; `Apply` and `Update` entries of one name are two owners.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """One field owner: manager name, operation (Apply or Update), version, subresource, time."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""
    time: str = ""


def name_owner(manager: str, subresource: str) -> str:
    """Return a field manager with the subresource that it wrote through: `kubectl (scale)`, an autoscaler's write."""
    name = manager or "unknown"
    return f"{name} ({subresource})" if subresource else name
