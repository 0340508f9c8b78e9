"""Report conflicts in the words of the API server.

Rule: one cause per manager and field; Update managers are named with their version. Managers are sorted in the text by
their identities written as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.objects.errors import Conflict, ConflictError
from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.golang import quote, render_json
from applyviz.engine.objects.paths import render_path
from applyviz.engine.ownership.managed_fields import UPDATE, Managed, ManagerIdentity


def render_identity(identity: ManagerIdentity) -> str:
    """Return an identity as the JSON text by which the API server sorts managers."""
    named = {"manager": identity.manager, "operation": identity.operation, "apiVersion": identity.api_version}
    parts = [*named.items(), ("subresource", identity.subresource)]
    return "{" + ",".join(f"{render_json(k)}:{render_json(v)}" for k, v in parts if v) + "}"


def name_manager(identity: ManagerIdentity) -> str:
    """Return a manager as messages name it: `"hpa" with subresource "scale" using apps/v1`."""
    text = quote(identity.manager)
    if identity.subresource:
        text += f" with subresource {quote(identity.subresource)}"
    return f"{text} using {identity.api_version}" if identity.operation == UPDATE else text


def list_conflicts(
    found: Mapping[ManagerIdentity, FieldSet], managed: Managed, fresh: frozenset[ManagerIdentity] = frozenset()
) -> tuple[Conflict, ...]:
    """Return one conflict per manager and field, managers in the order of the message.

    - `fresh`: managers whose fields were not read from managedFields (numbers in paths are printed so).
    """
    conflicts = []
    for identity in sorted(found, key=render_identity):
        for path in found[identity]:
            conflicts.append(
                Conflict(
                    manager=identity.manager,
                    operation=identity.operation,
                    api_version=managed.owned[identity].api_version,
                    subresource=identity.subresource,
                    path=path,
                    message=f"conflict with {name_manager(identity)}",
                    time=managed.times.get(identity, ""),
                    field=render_path(path, is_stored=identity not in fresh),
                )
            )
    return tuple(conflicts)


def make_error(conflicts: Sequence[Conflict]) -> ConflictError:
    """Return the error of a refused apply, with the server's message."""
    if len(conflicts) == 1:
        only = conflicts[0]
        return ConflictError(tuple(conflicts), f"Apply failed with 1 conflict: {only.message}: {only.field}")
    lines = []
    last = ""
    for conflict in conflicts:
        if conflict.message != last:
            last = conflict.message
            lines.append(f"conflicts with {last.removeprefix('conflict with ')}:")
        lines.append(f"- {conflict.field}")
    text = "\n".join(lines)
    return ConflictError(tuple(conflicts), f"Apply failed with {len(conflicts)} conflicts: {text}")
