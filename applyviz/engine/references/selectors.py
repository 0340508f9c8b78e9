"""Parse label selectors of objects, match labels with them, and compare what two of them select.

Rule: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements:
all requirements must hold, `NotIn` and `DoesNotExist` hold where the label is absent, and a selector without a
requirement matches everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from applyviz.engine.objects.values import JSONValue


class LabelSelectorRequirement(Struct, frozen=True):
    """One entry of `matchExpressions`."""

    label: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, JSONValue]) -> bool:
        """Return whether labels fulfill the requirement; no labels fulfill an unknown operator."""
        is_there = self.label in labels
        is_listed = is_there and labels[self.label] in self.values
        return {
            "In": is_listed,
            "NotIn": not is_listed,
            "Exists": is_there,
            "DoesNotExist": not is_there,
        }.get(self.operator, False)


class LabelSelector(Struct, frozen=True):
    """A selector: labels that must have a value, and requirements."""

    equals: tuple[tuple[str, str], ...] = ()
    requirements: tuple[LabelSelectorRequirement, ...] = ()

    @property
    def selects_all(self) -> bool:
        """Return whether the selector matches every object."""
        return not self.equals and not self.requirements

    def matches(self, labels: Mapping[str, JSONValue]) -> bool:
        """Return whether an object with these labels is selected."""
        if any(labels.get(label) != value for label, value in self.equals):
            return False
        return all(requirement.holds(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        parts = [f"{label}={value}" for label, value in self.equals]
        for requirement in self.requirements:
            values = f" ({', '.join(sorted(requirement.values))})" if requirement.values else ""
            parts.append(f"{requirement.label} {requirement.operator}{values}")
        return ", ".join(parts)


def _list_requirements(value: JSONValue) -> Iterator[LabelSelectorRequirement]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, Mapping):
            values = entry.get("values")
            named = frozenset(map(str, values)) if isinstance(values, list) else frozenset()
            yield LabelSelectorRequirement(str(entry.get("key")), str(entry.get("operator")), named)


def read_labels(value: JSONValue) -> LabelSelector | None:
    """Return the selector of a plain map of labels, as Services have; None if it selects nothing."""
    if not isinstance(value, Mapping) or not value:
        return None
    return LabelSelector(tuple(sorted((str(label), str(wanted)) for label, wanted in value.items())))


def read_selector(value: JSONValue) -> LabelSelector | None:
    """Return the selector of a `LabelSelector`; None if there is none, which selects nothing."""
    if not isinstance(value, Mapping):
        return None
    equals = read_labels(value.get("matchLabels"))
    return LabelSelector(equals.equals if equals else (), tuple(_list_requirements(value.get("matchExpressions"))))


@dataclass(slots=True)
class _LabelDemand:
    """The requirements of a selector for one label; `allowed`: None while it may have any value, or be absent."""

    allowed: set[str] | None = None
    refused: set[str] = field(default_factory=set)
    is_present: bool = False
    is_absent: bool = False

    def add(self, operator: str, values: frozenset[str]) -> None:
        """Add one requirement of the label."""
        if operator == "In":
            self.is_present = True
            self.allowed = set(values) if self.allowed is None else self.allowed & values
        elif operator == "NotIn":
            self.refused |= values
        elif operator == "Exists":
            self.is_present = True
        else:
            self.is_absent = True

    @property
    def left(self) -> set[str] | None:
        """The values that meet it, None if it names none."""
        return None if self.allowed is None else self.allowed - self.refused

    @property
    def is_impossible(self) -> bool:
        """Whether no label meets it."""
        return self.left == set() or (self.is_present and self.is_absent)

    def is_met_by(self, other: _LabelDemand) -> bool:
        """Return whether every label that meets another demand meets this one."""
        left = other.left
        if left is None:
            is_chosen = self.allowed is None and (other.is_absent or self.refused <= other.refused)
        else:
            is_chosen = (self.allowed is None or left <= self.allowed) and not left & self.refused
        return is_chosen and (other.is_present or not self.is_present) and (other.is_absent or not self.is_absent)


def _list_demands(selector: LabelSelector) -> dict[str, _LabelDemand]:
    found: dict[str, _LabelDemand] = {}
    for label, value in selector.equals:
        found.setdefault(label, _LabelDemand()).add("In", frozenset((value,)))
    for one in selector.requirements:
        found.setdefault(one.label, _LabelDemand()).add(one.operator, one.values)
    return found


def selects_within(inner: LabelSelector, outer: LabelSelector) -> bool:
    """Return whether every object that one selector matches is matched by another one."""
    demands = _list_demands(inner)
    if any(one.is_impossible for one in demands.values()):
        return True
    return all(demand.is_met_by(demands.get(label, _LabelDemand())) for label, demand in _list_demands(outer).items())
