"""The namespaces that an operation of a plan reaches: that of its object, and those whose objects go with a deletion.

Rule: a deleted Namespace takes everything in it, and a deleted definition every object of its kind, wherever it is. So
rights, policies and owners count there too: else, deleting the Namespace would be the way around them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from django.db.models import Case, F, Q, Value, When

from applyviz.engine.objects.kinds import DEFINITIONS, EVERY_KIND, SPACES, Kind, find_defined_group, list_kind_names
from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.workflow.foundation.scopes import EVERY_NAMESPACE, Patterned, ScopeEntry, fits, holds_at

DELETING: Final = frozenset(operation.value for operation in (*DELETIONS, Operation.REPLACE))


def list_reached(key: tuple[str, str, str, str], operation: str) -> tuple[str, ...]:
    """Return the namespaces that an operation on an object reaches, by the group, kind, namespace and name of it.

    - `EVERY_NAMESPACE` stands for all of them.
    """
    group, kind, namespace, name = key
    if operation in DELETING and (group, kind) in SPACES:
        return (namespace, name)
    if operation in DELETING and (group, kind) in DEFINITIONS:
        return (namespace, EVERY_NAMESPACE)
    return (namespace,)


def reaches(given: Patterned, scope: ScopeEntry) -> bool:
    """Return whether something that applies in some namespaces applies to a scope, or in any of every namespace."""
    if scope.namespace == EVERY_NAMESPACE:
        return fits(given.cluster_pattern, scope.cluster)
    return holds_at(given, scope)


def deletes_kind(key: tuple[str, str, str, str], kinds: Collection[str], given: Patterned, cluster: str) -> bool:
    """Return whether the deletion of an object deletes one of these kinds (`group/Kind`, `*`) where a policy applies.

    - The object itself; or what goes with a Namespace, whatever is in it; or the objects of a definition, by its group.
    """
    group, kind, namespace, name = key
    is_named = EVERY_KIND in kinds or not list_kind_names(group, kind).isdisjoint(kinds)
    if is_named and holds_at(given, ScopeEntry(cluster, namespace)):
        return True
    if (group, kind) in SPACES:
        return bool(kinds) and holds_at(given, ScopeEntry(cluster, name))
    defined = find_defined_group(group, kind, name)
    goes = EVERY_KIND in kinds or any(one.startswith(f"{defined}/") for one in kinds)
    return bool(defined) and goes and reaches(given, ScopeEntry(cluster, EVERY_NAMESPACE))


def _is_one_of(kinds: tuple[Kind, ...]) -> Q:
    found = Q(pk__in=[])
    for group, kind in kinds:
        found |= Q(group=group, kind=kind)
    return Q(operation__in=sorted(DELETING)) & found


REACHED: Final = Case(
    When(_is_one_of(SPACES), then=F("name")),
    When(_is_one_of(DEFINITIONS), then=Value(EVERY_NAMESPACE)),
    default=F("namespace"),
)
"""The last namespace that `list_reached` returns, of a row."""
GONE: Final = Case(When(_is_one_of((*SPACES, *DEFINITIONS)), then=F("name")), default=Value(""))
"""The name of an object that is deleted with everything that goes with it; "" for another row."""
