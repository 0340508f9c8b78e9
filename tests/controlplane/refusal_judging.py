"""Are two refusals the same? Status, warnings and the whole `Status` body, but for what a server makes up.

A server goes through maps in a random order, so that several problems of one object come in any order: they are
compared as a set, and so are causes. Times, uids, versions and allotted addresses are set aside. So are the parts that
the server quotes from a text that is no YAML: our messages leave them out, because they may be a password.
"""

from __future__ import annotations

import re
from typing import Any

from tests.controlplane.refusal_sides import Reply

_MADE_UP = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"(resourceVersion\W{1,12})\d+"), r"\1VERSION"),
    (re.compile(r"(ResourceVersion in record \()\d+"), r"\1VERSION"),
    (re.compile(r"((?:creationTimestamp|time|lastTransitionTime)\W{1,12})\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), r"\1TIME"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"(cannot decode !!\w+) `[^`]*`"), r"\1"),
    (re.compile(r"(yaml: (?:line \d+: )?(?:unknown )?anchor) '[^']*'"), r"\1"),
    (re.compile(r"(cannot unmarshal number) \S+ (into Go value of type float64)"), r"\1 \2"),
)
_AROUND = 80
_UNDECLARED = "field not declared in schema"


def simplify(value: Any) -> Any:
    """The same value without what a server makes up."""
    if isinstance(value, dict):
        return {name: simplify(item) for name, item in value.items()}
    if isinstance(value, list):
        return [simplify(item) for item in value]
    if isinstance(value, str):
        for pattern, instead in _MADE_UP:
            value = pattern.sub(instead, value)
    return value


def is_validation(reply: Reply) -> bool:
    """Whether an answer is about the rules of a kind: a 422 that names the kind, or what admission refuses."""
    if not isinstance(reply.body, dict):
        return False
    details = reply.body.get("details") or {}
    if reply.status == 403:
        return True
    return (
        reply.status == 422
        and bool(details.get("causes"))
        and bool(details.get("kind"))
        and (details.get("group") != "meta.k8s.io")
    )


def _canonical(reply: Reply) -> tuple[Any, ...]:
    """What is compared: status, warnings, and the body with its lines and causes in an order of their own."""
    body = simplify(reply.body)
    if reply.status < 400 or not isinstance(body, dict):
        return reply.status, sorted(reply.warnings), body if reply.status >= 400 else None
    details = body.get("details") or {}
    causes = sorted(map(repr, details.get("causes") or ()))
    return (
        reply.status,
        sorted(reply.warnings),
        {
            **body,
            "message": _sort_message(body),
            "details": {**details, "causes": causes} if "details" in body else None,
        },
    )


def _sort_message(body: dict[str, Any]) -> list[str]:
    message = body.get("message", "")
    head, mark, tail = message.partition("errors:\n")
    if mark:
        return [head, *sorted(tail.split("\n"))]
    causes = (body.get("details") or {}).get("causes") or ()
    if len(causes) > 1 and "is invalid: [" in message:
        head, _, rest = message.partition("is invalid: [")
        lines = {f"{c.get('field')}: {c.get('message')}" for c in causes}
        for line in sorted(lines, key=len, reverse=True):
            rest = rest.replace(line, "", 1)
        return [head, rest.strip(", ]"), *sorted(lines)]
    return [message]


def is_same(left: Reply, right: Reply) -> bool:
    """Whether two answers say the same."""
    return _canonical(left) == _canonical(right)


def is_part(theirs: Reply, ours: Reply) -> bool:
    """Whether the server stopped among the problems that the sandbox lists, which it does at an undeclared field.

    Where it stops hangs on the random order of a map.
    """
    if theirs.status != ours.status or not isinstance(theirs.body, dict) or not isinstance(ours.body, dict):
        return False
    left, right = (_list_typed(simplify(body).get("message", "")) for body in (theirs.body, ours.body))
    return bool(left) and any(_UNDECLARED in line for line in left) and left <= right


def _list_typed(message: str) -> set[str]:
    head, mark, tail = message.partition("): ")
    if not mark or "typed patch object" not in head:
        return set()
    return {line.strip() for line in tail.removeprefix("errors:\n").split("\n")}


def explain(theirs: Reply, ours: Reply) -> str:
    """Where they differ, for people."""
    lines = []
    for name, left, right in zip(("status", "warnings", "body"), _canonical(theirs), _canonical(ours), strict=True):
        if left != right:
            pairs = zip(str(left), str(right), strict=False)
            at = next((number for number, (one, other) in enumerate(pairs) if one != other), 0)
            start = max(at - _AROUND, 0)
            lines += [f"  {name} from character {at}", f"    server  …{str(left)[start : at + 5 * _AROUND]}"]
            lines.append(f"    sandbox …{str(right)[start : at + 5 * _AROUND]}")
    return "\n".join(lines)
