"""The sentences of changes to permissions, definitions, admission, API services and namespaces."""

from __future__ import annotations

from collections.abc import Mapping

_ONE_MORE = "The schemas differ in 1 more field."
_SAME = "Its permissions stay the same."
_FIELDS = {
    "added": "New optional fields {added}: objects that exist stay valid.",
    "removed": "Without the fields {removed}: the server drops them from objects that are written.",
    "required": "Required from now on: {required}. The server refuses objects without them.",
    "retyped": "Another type: {retyped}. The server refuses values of the former type.",
}
_ONE_FIELD = {
    "added": "New optional field {added}: objects that exist stay valid.",
    "removed": "Without the field {removed}: the server drops it from objects that are written.",
    "required": "Required from now on: {required}. The server refuses objects without it.",
}
_VERSIONS = {
    "served": "{defined} is also served as {served}.",
    "unserved": "{defined} is no longer served as {unserved}: requests for it fail.",
    "stored": "Objects are stored as {stored} from now on.",
}


_FAILS = {
    "Fail": "If it does not answer, they fail.",
    "Ignore": "If it does not answer, they go on without it.",
}


def describe_admission(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences about the requests that a webhook or an admission policy gets or judges."""
    if f.get("policy"):
        return ("Binds {policy}: {actions}." if f.get("actions") else "Binds {policy}.",)
    if not f.get("requests"):
        return ("{kind} {name} gets no requests.",)
    if f["kind"].endswith("Policy"):
        return ("Judges {requests} wherever a binding asks for it.",)
    return ("Gets {requests} before they are stored.", *((_FAILS[f["failure"]],) if f.get("failure") in _FAILS else ()))


def describe_server(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentence about the requests that another server answers."""
    if f.get("state") == "gone":
        return ("No server answers requests for {name} any more.",)
    if f.get("service"):
        return ("Service {service} answers all requests for {name}.",)
    return ("The API server itself answers requests for {name}.",)


def describe_namespace(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentence about what is in a namespace that changes."""
    if f.get("state") == "new":
        return ("Namespace {name} is new: nothing is in it yet.",)
    return ("Changes to Namespace {name} can affect everything in it.",)


def describe_permissions(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences about what a role or a binding gives and takes."""
    if f.get("rules"):
        return ("{kind} {name} has too many rules to compare them.",)
    found = [
        sentence
        for fact, sentence in (
            ("gains", "Gains {gains}."),
            ("loses", "Loses {loses}."),
            ("bound", "Gives {role} to {bound}."),
            ("unbound", "Takes {former} from {unbound}."),
            ("moved", "It binds {role} instead of {former}."),
            ("aggregates", "It collects the rules of other ClusterRoles."),
        )
        if f.get(fact)
    ]
    return tuple(found) or (_SAME,)


def describe_definition(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences about the objects of a kind whose definition changes."""
    if f.get("state") == "new":
        return ("The cluster gets the kind {defined}; there are no objects of it yet.",)
    if f.get("state") == "gone":
        return ("The cluster loses the kind {defined} and every object of it.",)
    found = []
    for fact, many in _FIELDS.items():
        if f.get(fact):
            is_one = "," not in f[fact] and " and " not in f[fact]
            found.append(_ONE_FIELD.get(fact, many) if is_one else many)
    is_only_added = len(found) == 1 and not any(f.get(fact) for fact in ("others", "served", "stored"))
    if f.get("added") and not is_only_added:
        found[0] = found[0].partition(":")[0] + "."
    found += [sentence for fact, sentence in _VERSIONS.items() if f.get(fact)]
    if f.get("others"):
        found.append("The schemas differ in {others} more fields." if f["others"] != "1" else _ONE_MORE)
    return tuple(found) or ("The fields and versions of the kind stay the same.",)
