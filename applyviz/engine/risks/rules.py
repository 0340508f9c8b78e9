"""Run all rules over one change and sort the risks by level.

A rule is a function from a `RiskSubject` to risks; it does no I/O and reports nothing if its inputs are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from applyviz.engine.risks import (
    admission,
    autoscaled,
    clientside,
    conversion,
    defaults,
    deletions,
    exposure,
    hooks,
    immutable,
    ineffective,
    lists,
    removals,
    repeating,
    restarts,
    set_context,
    texts,
    topology,
    unknown_fields,
    versions,
    webhooks,
)
from applyviz.engine.risks.model import Risk, RiskLevel, RiskSubject

RiskRule: TypeAlias = Callable[[RiskSubject], Iterator[Risk]]

RULES: tuple[RiskRule, ...] = (
    immutable.find,
    unknown_fields.find,
    versions.find,
    defaults.find_sibling,
    lists.find_duplicates,
    lists.find_shared_keys,
    texts.find_retyped,
    texts.find_duplicates,
    texts.find_unseen,
    clientside.find_missing,
    clientside.find_too_long,
    removals.find,
    ineffective.find_kept,
    ineffective.find_carried,
    ineffective.find_status,
    ineffective.find_open_policy,
    exposure.find,
    ineffective.find_injected,
    ineffective.find_invalid_entries,
    deletions.find_released,
    autoscaled.find,
    lists.find_replaced,
    topology.find,
    restarts.find,
    set_context.find_reach,
    set_context.find_other_tool,
    set_context.find_same_set,
    set_context.find_secret,
    hooks.find,
    admission.find,
    webhooks.find,
    conversion.find,
    repeating.find,
    defaults.find_null,
    lists.find_order,
)
_LOUDNESS = {RiskLevel.HIGH: 0, RiskLevel.MEDIUM: 1, RiskLevel.INFO: 2}


def find_risks(subject: RiskSubject) -> tuple[Risk, ...]:
    """Return every risk of one change; risks of one level stay in the order of the rules."""
    return sort_risks(risk for rule in RULES for risk in rule(subject))


def sort_risks(risks: Iterable[Risk]) -> tuple[Risk, ...]:
    """Return the same risks, high ones first."""
    return tuple(sorted(risks, key=lambda risk: _LOUDNESS[risk.level]))


def needs_acknowledgment(risk: Risk) -> bool:
    """Return whether a risk must be acknowledged before approval: every high one."""
    return risk.level is RiskLevel.HIGH
