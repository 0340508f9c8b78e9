"""Interpret a server's answer to a dry run: confirmed, refused, an error, or not tried at all.

Rule: a dry run runs admission, defaulting and validation and persists nothing; a person may be allowed to read and not
to write, and a webhook may not support dry runs: neither is a verdict on the change itself.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.values import get_at

_RIGHTS = re.compile(r"\bcannot (create|patch|update|delete|get|list) resource\b")
_NO_NAMESPACE = re.compile(r'namespaces "([^"]*)" not found')
_OWNER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"(?: with subresource "([^"]*)")?(?: using ([^ ]+))?')
OWN_WORDS = frozenset(
    (
        "no answer to the dry run",
        "a dry run is not allowed here",
        "the server cannot try it",
        "the server could not try it",
        "the live object could not be read",
    )
)
"""Our sentences before a server's message, which follows after a colon."""
# The server is too busy, or does not support the verb for the kind.
_CANNOT_TRY = (405, 429, 502, 503, 504)


class DryRunVerdict(StrEnum):
    """The possible meanings of an answer to a dry run."""

    CONFIRMED = "confirmed"
    CONFLICTS = "conflicts"
    CHANGED = "changed"
    REFUSED = "refused"
    UNTRIED = "untried"


class DryRunResult(Struct, frozen=True):
    """A verdict with its reason in plain words ("" when confirmed)."""

    verdict: DryRunVerdict
    reason: str = ""


def missing_namespace(answer: Answer) -> str:
    """Return the namespace that the server did not find, "" if the answer is about something else."""
    found = _NO_NAMESPACE.search(answer.message) if answer.status == 404 else None
    return found[1] if found else ""


def _causes(answer: Answer) -> list[dict[str, str]]:
    causes = get_at(answer.body, ("details", "causes"))
    return [c for c in causes if isinstance(c, dict)] if isinstance(causes, list) else []


def read_conflicts(answer: Answer) -> tuple[tuple[str, str], ...]:
    """Return the field manager and the field of each conflict that the server names, sorted."""
    found = set()
    for cause in _causes(answer):
        owner = _OWNER.search(cause.get("message", ""))
        if cause.get("reason") == "FieldManagerConflict" and owner:
            found.add((owner[1], cause.get("field", "")))
    return tuple(sorted(found))


def describe_conflicts(answer: Answer) -> tuple[Conflict, ...]:
    """Return the server's conflicts, if only the server knows of them; their paths stay in the message."""
    conflicts = []
    for cause in _causes(answer):
        owner = _OWNER.search(cause.get("message", ""))
        if cause.get("reason") == "FieldManagerConflict" and owner:
            message = f"{cause.get('message', '')}: {cause.get('field', '')}"
            operation = "Update" if owner[3] else "Apply"
            conflicts.append(Conflict(owner[1], operation, owner[3] or "", owner[2] or "", (), message))
    return tuple(conflicts)


def describe_refusal(answer: Answer) -> str:
    """Return why the server refuses, in plain words: its causes if it names any."""
    causes = [f"{c['field']}: {c['message']}" if c.get("field") else c.get("message", "") for c in _causes(answer)]
    if answer.status == 422 and causes:
        return "not valid: " + "; ".join(dict.fromkeys(causes))
    return answer.message or f"the server answered {answer.status}"


def read_dry_run(answer: Answer) -> DryRunResult:
    """Return the meaning of the answer to a dry run."""
    if answer.is_ok:
        return DryRunResult(DryRunVerdict.CONFIRMED)
    if answer.status == 409:
        if read_conflicts(answer):
            return DryRunResult(DryRunVerdict.CONFLICTS, answer.message)
        return DryRunResult(DryRunVerdict.CHANGED, "the object changed while it was planned")
    if answer.status == 0:
        return DryRunResult(DryRunVerdict.UNTRIED, f"no answer to the dry run: {answer.message or 'unreachable'}")
    if answer.status in (401, 403) and (_RIGHTS.search(answer.message) or not answer.message):
        return DryRunResult(DryRunVerdict.UNTRIED, "a dry run is not allowed here: " + answer.message)
    if answer.status == 400 and "dry run" in answer.message.replace("dryRun", "dry run"):
        return DryRunResult(DryRunVerdict.UNTRIED, f"the server cannot try it: {answer.message}")
    if answer.status in _CANNOT_TRY or (answer.status == 500 and "failed calling webhook" in answer.message):
        return DryRunResult(DryRunVerdict.UNTRIED, f"the server could not try it: {describe_refusal(answer)}")
    return DryRunResult(DryRunVerdict.REFUSED, describe_refusal(answer))
