"""Scopes: a cluster and a namespace, "" for cluster-scoped objects; and patterns over both.

Rule of patterns: `*` matches any text, `?` one character, every other character itself; case matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Protocol

from django.db.models import Q

PATTERN = re.compile(r"[a-z0-9.*?-]{1,63}")


# Stands for all namespaces at once: only the pattern `*` matches it.
EVERY_NAMESPACE = "\n"


class ScopeEntry(NamedTuple):
    """One namespace of one cluster; `namespace` "" means its cluster-scoped objects."""

    cluster: str
    namespace: str = ""


class Patterned(Protocol):
    """Something with a scope: a grant, a version of a policy."""

    cluster_pattern: str
    namespace_pattern: str
    is_cluster_scoped: bool


def _literal(text: str) -> str:
    return "".join("." if c == "?" else re.escape(c) for c in text)


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> str:
    """Return a regular expression, for Python and databases, that rejects a text in linear time.

    - A star extends to the first match of what follows it, and never further: the first match is as good as any.
    """
    first, *parts = (_literal(part) for part in re.split(r"\*+", pattern))
    if not parts:
        return f"^{first}$"
    *middle, last = parts
    return f"^{first}{''.join(f'(?:(?!{part}).)*{part}' for part in middle)}.*{last}$"


def fits(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern."""
    return pattern == "*" or re.fullmatch(_expression(pattern), text) is not None


def holds_at(given: Patterned, scope: ScopeEntry) -> bool:
    """Return whether something applies to a scope."""
    if not fits(given.cluster_pattern, scope.cluster):
        return False
    return fits(given.namespace_pattern, scope.namespace) if scope.namespace else given.is_cluster_scoped


def is_everywhere(given: Patterned) -> bool:
    """Return whether it applies to every scope."""
    return given.cluster_pattern == given.namespace_pattern == "*" and given.is_cluster_scoped


def _fitting(column: str, pattern: str) -> Q:
    if pattern == "*":
        return Q()
    if not set(pattern) & set("*?"):
        return Q(**{column: pattern})
    return Q(**{f"{column}__regex": _expression(pattern)})


def select_covered(given: Iterable[Patterned], *, cluster: str) -> Q:
    """Return the filter for rows in a covered scope; `cluster`: the column of the cluster's slug."""
    chosen = Q(pk__in=[])
    for one in given:
        named = ~Q(namespace="") & _fitting("namespace", one.namespace_pattern)
        where = named | Q(namespace="") if one.is_cluster_scoped else named
        chosen |= _fitting(cluster, one.cluster_pattern) & where
    return chosen
