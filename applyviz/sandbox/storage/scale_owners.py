"""Convert ownership of the replica count between an object and its scale subresource.

Rule: k8s.io/apimachinery `managedfields.ScaleHandler`. Only entries that own the count appear on a Scale. After a
write, a manager that lost it there loses it on the object, and a manager that gained it gets a separate entry without a
time. Update entries change their version in the process, so one that kept the count loses its time as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.fieldsets import from_paths
from applyviz.engine.objects.paths import FieldPath, fields
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.ownership.managed_fields import Managed, ManagerIdentity, Owned, decode, encode

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = fields("spec", "replicas")


def entries_of_scale(entries: list[JSONObject], paths: Mapping[str, FieldPath]) -> list[MutableObject]:
    """Return the managedFields of a Scale; `paths` has the path of the count by apiVersion."""
    parent = decode(entries)
    shown = Managed()
    for identity, owned in parent.owned.items():
        path = paths.get(owned.api_version)
        if path is not None and owned.fields.has(path):
            shown.owned[identity] = Owned(from_paths([_REPLICAS]), SCALE_VERSION)
            shown.times[identity] = parent.times.get(identity, "")
    return encode(shown)


def entries_of_parent(
    entries: list[JSONObject], scale_entries: list[JSONObject], paths: Mapping[str, FieldPath], api_version: str
) -> list[MutableObject]:
    """Return the managedFields of the object after its Scale was written."""
    parent, scale = decode(entries), decode(scale_entries)
    gained = dict(scale.owned)
    result = Managed()
    for identity, owned in parent.owned.items():
        if owned.api_version not in paths:
            continue
        kept = _keep(identity, owned, paths[owned.api_version], gained)
        if kept is not None:
            result.owned[identity], result.times[identity] = kept, parent.times.get(identity, "")
    for identity, owned in gained.items():
        if owned.fields.has(_REPLICAS):
            result.owned[identity] = Owned(from_paths([paths[api_version]]), api_version)
            result.times[identity] = parent.times.get(identity, "")
    return encode(result)


def _keep(
    identity: ManagerIdentity, owned: Owned, path: FieldPath, gained: dict[ManagerIdentity, Owned]
) -> Owned | None:
    """Return what an entry keeps: everything, if the Scale has an entry of the same identity."""
    if not owned.fields.has(path):
        return owned
    if identity in gained:
        del gained[identity]
        return owned
    rest = owned.fields.difference(from_paths([path]))
    return Owned(rest, owned.api_version) if rest else None
