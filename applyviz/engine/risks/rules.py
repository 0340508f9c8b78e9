"""Run all rules over one change and sort the risks by level.

A rule is a function from a `RiskSubject` to risks; it does no I/O and reports nothing if its inputs are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from applyviz.engine.risks.model import LEVELS, Risk, RiskLevel, RiskSubject

RiskRule: TypeAlias = Callable[[RiskSubject], Iterator[Risk]]

_RULES: dict[int, RiskRule] = {}


def rule(order: int) -> Callable[[RiskRule], RiskRule]:
    """Register a rule; risks of one level are shown in the order of their rules.

    - Raises `ValueError` for two rules with one number.
    """

    def register(find: RiskRule) -> RiskRule:
        if _RULES.setdefault(order, find) is not find:
            raise ValueError(f"two rules have the number {order}")
        return find

    return register


def find_risks(subject: RiskSubject) -> tuple[Risk, ...]:
    """Return every risk of one change; risks of one level stay in the order of the rules."""
    return sort_risks(risk for order in sorted(_RULES) for risk in _RULES[order](subject))


def sort_risks(risks: Iterable[Risk]) -> tuple[Risk, ...]:
    """Return the same risks, high ones first."""
    return tuple(sorted(risks, key=lambda risk: LEVELS.index(risk.level)))


def needs_acknowledgment(risk: Risk) -> bool:
    """Return whether a risk must be acknowledged before approval: every high one."""
    return risk.level is RiskLevel.HIGH
