"""Find the objects that another object depends on: what a run skips after a failure, and why.

Rule: an object depends on its namespace, the definition of its kind, and the objects that it names
(`engine/references`), optional ones included: pods must not start with other settings than were approved. Objects
selected only by labels are not dependencies.
"""

from __future__ import annotations

from applyviz.engine.objects.kinds import NAMESPACE
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.references.listing import list_references
from applyviz.engine.references.model import Key


def find_dependencies(ref: ObjectRef, obj: JSONObject) -> frozenset[Key]:
    """Return the keys (`ObjectRef.key`) of the objects that an object depends on, without definitions of kinds."""
    named = {reference.target for reference in list_references(ref, obj)}
    return frozenset(named | {(*NAMESPACE, "", ref.namespace)} if ref.namespace else named)
