"""Server defaults interfere with a change: a default sibling blocks it, a null is defaulted again.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy (rollingUpdate is forbidden beside
Recreate) and declarative configuration's page on defaulted fields: clearing a defaulted field makes the server default
it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import field, fields
from applyviz.engine.objects.values import JSONValue, canonical_json, get_at, is_same_json
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.owners import is_ours, list_entries, owns_at
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import path_of, position_of

# kind: (path of the union, its type that forbids the sibling, the sibling)
_UNIONS = {
    ("apps", "Deployment"): (("spec", "strategy"), "Recreate", "rollingUpdate"),
    ("apps", "StatefulSet"): (("spec", "updateStrategy"), "OnDelete", "rollingUpdate"),
}
# What stands for no value; a server-side apply stores "" for a null among texts, and "0" for one among amounts.
_EMPTY: tuple[JSONValue, ...] = (None, {}, [], "", "0")

_SIBLING = {
    "null": Advice.SIBLING_NULL,
    "remove": Advice.SIBLING_REMOVE,
    "own": Advice.SIBLING_OWN,
    "replace": Advice.SIBLING_REPLACE,
}
DEFAULTED_SIBLING = RiskKind(
    "defaulted-sibling",
    "A default blocks the change",
    lambda f: (
        "The server will reject type {type} together with {sibling}.",
        _SIBLING[f["remedy"]].value,
    ),
    level=RiskLevel.HIGH,
    is_beside_field=True,
)
_NULLS = {
    "same": "{field} is cleared with null, and the server sets its default again.",
    "other": "{field} is cleared with null, and the server sets its default instead of the live value.",
    "absent": "{field} is null in the manifest, and the server sets its default.",
}
NULL_DEFAULTS_AGAIN = RiskKind(
    "null-defaults-again",
    "Default in place of null",
    lambda f: (_NULLS[f["live"]],),
    level=RiskLevel.INFO,
    is_beside_field=True,
)


def _find_remedy(subject: RiskSubject, where: tuple[str, ...], sibling: str) -> tuple[str, str]:
    """Return what makes the change possible, and the field managers that block it.

    - Client-side, null removes the sibling. A server-side apply only removes what its manager alone owns.
    """
    if not subject.is_server_side:
        return "null", ""
    path = fields(*where, sibling)
    entries = [e for e in list_entries(subject.live) if owns_at(e, path)]
    others = sorted({str(e.get("manager")) for e in entries if not is_ours(e, subject)})
    if others:
        return "replace", ", ".join(others)
    is_removed_with_it = bool(entries) or get_at(subject.live, (*where, sibling)) is None
    return ("remove" if is_removed_with_it else "own"), ""


@rule(40)
def find_sibling(subject: RiskSubject) -> Iterator[Risk]:
    """Yield a defaulted field that the server will refuse beside the new type of its union."""
    gvk = subject.ref.gvk
    union = _UNIONS.get((gvk.group, gvk.kind))
    if union is None or subject.merged is None or subject.live is None:
        return
    where, blocking, sibling = union
    value = get_at(subject.merged, where)
    if not isinstance(value, Mapping) or value.get("type") != blocking or not value.get(sibling):
        return
    remedy, owners = _find_remedy(subject, where, sibling)
    facts = {
        "type": blocking,
        "sibling": sibling,
        "field": ".".join((*where, sibling)),
        "live": canonical_json(get_at(subject.live, (*where, sibling))),
        "before": str(get_at(subject.live, (*where, "type"))),
        "remedy": remedy,
        "owners": owners,
    }
    yield DEFAULTED_SIBLING.at((*fields(*where), field(sibling)), facts, position_of(subject, where))


def _compare(live: JSONValue, found: JSONValue) -> str:
    if live is ABSENT or live is None:
        return "absent"
    return "same" if is_same_json(live, found) else "other"


@rule(340)
def find_null(subject: RiskSubject) -> Iterator[Risk]:
    """Yield a field that the manifest clears with null and the server fills again: it has a value afterwards.

    - Values of the metadata and the status are never defaults; neither are those that other managers own.
    - An object that the server refuses keeps its live values, which are no defaults.
    """
    if subject.is_merge_only or subject.manifest is None or subject.live is None or subject.result is None:
        return
    result, live = FieldFinder(subject.result), FieldFinder(subject.live)
    others = [e for e in list_entries(subject.result) if subject.is_server_side and not is_ours(e, subject)]
    for where, value, _node in subject.containers:
        if not isinstance(value, Mapping) or None not in value.values() or where[:1] in (("metadata",), ("status",)):
            continue
        for name in (name for name, entry in value.items() if entry is None):
            path = path_of(subject, (*where, name))
            found = result.find(path)
            if found is ABSENT or found in _EMPTY or any(owns_at(entry, path) for entry in others):
                continue
            if where or name not in ("metadata", "status"):
                facts = {"field": str(name), "live": _compare(live.find(path), found)}
                yield NULL_DEFAULTS_AGAIN.at(path, facts, position_of(subject, (*where, name)))
