"""Secrets that a plan compares with live: some readers must not learn the result, and nothing public may depend on it.

So policies count such a Secret as changed, in its namespace and with every risk that its options can cause, whether or
not its manifest has the live values: the approvals that a plan needs are shown to everyone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from django.db.models import Q

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.deletions import REPLACED
from applyviz.engine.risks.model import RiskKind
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.reach import SYSTEM_NAMESPACE

_SYSTEM_PREFIX = "kube-"
_NO_LIVE = frozenset(
    operation.value
    for operation in (
        Operation.CREATE,
        Operation.PRUNE,
        Operation.DELETE,
        Operation.NOT_FOUND,
        Operation.LEFT_OUT,
    )
)
COMPARED = Q(group="", kind="Secret") & ~Q(operation__in=sorted(_NO_LIVE))
"""The rows that `compares` is true for."""


class _Row(Protocol):
    group: str
    kind: str
    operation: str


def compares(group: str, kind: str, operation: str) -> bool:
    """Return whether an operation on an object reveals how the manifest of a Secret compares with its live values."""
    return not group and kind == "Secret" and operation not in _NO_LIVE


def is_compared(row: _Row) -> bool:
    """Return whether a row reveals how the manifest of a Secret compares with its live values."""
    return compares(row.group, row.kind, row.operation)


def list_possible_risks(namespaces: Iterable[str], options: ApplyOptions, *, is_forced: bool) -> frozenset[RiskKind]:
    """Return the risks that policies know and that Secrets in these namespaces may have, whatever is live.

    - `is_forced`: whether the options or a resolution overwrite fields of other managers.
    """
    chosen = options.replacement
    may_replace = chosen.objects or chosen.kinds or chosen.policy_kinds or chosen.annotations
    found = {
        FORCED: options.mode is ApplyMode.SERVER and is_forced,
        REPLACED: options.is_replacing_on_error or bool(may_replace),
        SYSTEM_NAMESPACE: any(space.startswith(_SYSTEM_PREFIX) for space in namespaces),
    }
    return frozenset(kind for kind, is_possible in found.items() if is_possible)
