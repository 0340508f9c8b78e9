"""Parse label selectors and match objects (`-l`).

Rule: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors. A missing label
satisfies `!=` and `notin`. Field selectors are left out: only the server knows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.golang import read_signed

_TOKEN = re.compile(r"\s*(,|\(|\)|==|!=|=|!|<|>|[^\s,()=!<>]+)")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")


class SelectorError(ApplyVizError):
    """A label selector that cannot be parsed."""


class Operator(StrEnum):
    """The operator of one requirement."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "!"
    GREATER = ">"
    LESS = "<"


class Requirement(Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels satisfies it."""
        present, value = self.key in labels, labels.get(self.key, "")
        match self.operator:
            case Operator.IN:
                return present and value in self.values
            case Operator.NOT_IN:
                return not present or value not in self.values
            case Operator.EXISTS:
                return present
            case Operator.ABSENT:
                return not present
            case Operator.GREATER | Operator.LESS:
                return present and self._compares(value)
            case _:
                assert_never(self.operator)

    def _compares(self, value: str) -> bool:
        bound, number = read_signed(next(iter(self.values))), read_signed(value)
        if bound is None or number is None:
            return False
        return number > bound if self.operator is Operator.GREATER else number < bound


class _SelectorParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = _TOKEN.findall(text)

    def error(self, reason: str) -> SelectorError:
        return SelectorError(f'unable to parse selector "{self.text}": {reason}')

    def take(self) -> str:
        return self.tokens.pop(0) if self.tokens else ""

    def next_is(self, *wanted: str) -> bool:
        return bool(self.tokens) and self.tokens[0] in wanted

    def key(self) -> str:
        key = self.take()
        prefix, slash, name = key.rpartition("/")
        if not _NAME.match(name) or (slash and not _PREFIX.match(prefix)):
            raise self.error(f'"{key}" is no label name')
        return key

    def value(self) -> str:
        """Return one value; a missing one is the empty value."""
        if not self.tokens or self.next_is(",", ")"):
            return ""
        value = self.take()
        if not _NAME.match(value):
            raise self.error(f'"{value}" is no label value')
        return value

    def values(self) -> frozenset[str]:
        if self.take() != "(":
            raise self.error('expected "("')
        found = {self.value()}
        while self.next_is(","):
            self.take()
            found.add(self.value())
        if self.take() != ")":
            raise self.error('expected ")"')
        return frozenset(found)

    def requirement(self) -> Requirement:
        if self.next_is("!"):
            self.take()
            return Requirement(self.key(), Operator.ABSENT)
        key = self.key()
        if not self.tokens or self.next_is(","):
            return Requirement(key, Operator.EXISTS)
        operator = self.take()
        if operator in ("=", "=="):
            return Requirement(key, Operator.IN, frozenset({self.value()}))
        if operator == "!=":
            return Requirement(key, Operator.NOT_IN, frozenset({self.value()}))
        if operator in ("in", "notin"):
            return Requirement(key, Operator(operator), self.values())
        if operator in (">", "<"):
            bound = self.value()
            if read_signed(bound) is None:
                raise self.error(f'"{bound}" is no integer')
            return Requirement(key, Operator(operator), frozenset({bound}))
        raise self.error(f'unknown operator "{operator}"')


class Selector(Struct, frozen=True):
    """A label selector; all of its requirements must hold."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        return all(r.matches(labels) for r in self.requirements)


def parse_selector(text: str) -> Selector:
    """Parse a label selector; empty text selects everything.

    - Raises `SelectorError`.
    """
    reader = _SelectorParser(text.strip())
    found = []
    while reader.tokens:
        found.append(reader.requirement())
        if reader.tokens and (reader.take() != "," or not reader.tokens):
            raise reader.error('expected "," and another requirement')
    return Selector(tuple(found))
