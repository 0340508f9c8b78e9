"""Disagreements that are known, each with its reason: the report prints them and does not fail for them.

An exception names its families and cases; a case of another name disagrees as any other.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.conformance.cases import CaseResult


class NamedException(Struct, frozen=True):
    """Cases of some families that may disagree, by the beginnings of their names, and why."""

    families: tuple[str, ...]
    names: tuple[str, ...]
    reason: str


EXCEPTIONS = (
    NamedException(
        ("plan-estimated",),
        ("whole-claims step 22 ",),
        "whether its class lets a bound claim grow is known to the cluster alone, so an estimate lets it grow",
    ),
    NamedException(
        ("replay",),
        ("again-cluster step 1 write 19",),
        "which of two values of a wrong type a server names: it goes through maps in a random order",
    ),
    NamedException(
        ("plan-estimated",),
        ("further-cluster step 7 ", "other-services step 10 "),
        "whether an external name still holds an internal traffic policy is known to the cluster alone",
    ),
    NamedException(
        ("reasons",),
        ("smp3.jsonl.gz line 75:", "smp3.jsonl.gz line 323:", "smp3.jsonl.gz line 270:", "ssa.jsonl.gz line 597:"),
        "entries of live or of the manifest that are there twice: the merge makes one of them",
    ),
    NamedException(
        ("reasons",),
        ("smp3.jsonl.gz line 157: ServiceAccount", "smp3.jsonl.gz line 184: ServiceAccount"),
        "no cluster holds a reference to a Secret with more than its name: any write removes the rest",
    ),
)


def find_exception(case: CaseResult) -> NamedException | None:
    """Return the exception that a disagreeing case falls under, None if it has none."""
    return next((e for e in EXCEPTIONS if case.family in e.families and case.name.startswith(e.names)), None)
