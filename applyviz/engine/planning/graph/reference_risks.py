"""References without a target after a plan, as risks of the object that causes them.

Rule: the referring object has the risk if it is written; else the written object that removed the target, and only if
the target existed before. Objects that the cluster creates itself (classes, roles, volumes, certificates) often exist
before or after the set, so they are drawn and are no risk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.paths import FieldPath, field, index
from applyviz.engine.objects.paths import key as entry
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.graph.plan_references import PlanReferences
from applyviz.engine.planning.model.plan import DELETIONS
from applyviz.engine.references.model import Key, PlainPath, ReferenceKind
from applyviz.engine.references.resolving import Edge, EdgeState
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.engine.risks.planning.dangling import DANGLING_REFERENCE, MATCHES_NOTHING, MISSING_KEY, MISSING_PORT

# What fails without the target, and the level of the risk.
_EFFECTS: dict[ReferenceKind, tuple[str, RiskLevel]] = {
    ReferenceKind.CONFIGURATION: ("start", RiskLevel.HIGH),
    ReferenceKind.ACCOUNT: ("create", RiskLevel.HIGH),
    ReferenceKind.CLAIM: ("pending", RiskLevel.HIGH),
    ReferenceKind.PULL_SECRET: ("pull", RiskLevel.MEDIUM),
    ReferenceKind.BACKEND: ("requests", RiskLevel.MEDIUM),
    ReferenceKind.WEBHOOK: ("call", RiskLevel.MEDIUM),
    ReferenceKind.API_SERVICE: ("call", RiskLevel.MEDIUM),
    ReferenceKind.SUBJECT: ("rights", RiskLevel.INFO),
    ReferenceKind.SCALE_TARGET: ("scale", RiskLevel.MEDIUM),
    ReferenceKind.SERVICE_SELECTOR: ("requests", RiskLevel.MEDIUM),
    ReferenceKind.DISRUPTION_BUDGET: ("budget", RiskLevel.MEDIUM),
    ReferenceKind.NETWORK_POLICY: ("policy", RiskLevel.INFO),
}
_KINDS = {
    EdgeState.MISSING: DANGLING_REFERENCE,
    EdgeState.KEY_MISSING: MISSING_KEY,
    EdgeState.PORT_MISSING: MISSING_PORT,
    EdgeState.NO_MATCH: MATCHES_NOTHING,
}
# Lists of pods whose entries are identified by their name.
_NAMED = frozenset(
    ("containers", "initContainers", "ephemeralContainers", "env", "volumes", "imagePullSecrets", "webhooks")
)
_MAKERS = ("Job", "CronJob")


def locate(obj: JSONObject | None, plain: PlainPath) -> FieldPath:
    """Return a path in an object as a field path; list entries with a name are identified by it."""
    value: JSONValue = obj
    path: list[str] = []
    above = ""
    for step in plain:
        if isinstance(step, str):
            path.append(field(step))
            value, above = (value.get(step) if isinstance(value, Mapping) else None), step
            continue
        value = value[step] if isinstance(value, list) and step < len(value) else None
        name = value.get("name") if isinstance(value, Mapping) and above in _NAMED else None
        path.append(index(step) if name is None else entry({"name": name}))
    return tuple(path)


def show(key: Key) -> str:
    """Return an object as text: kind and name."""
    return f"{key[1]}/{key[3]}"


def _hold_text(value: JSONValue, text: str) -> bool:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            if text in found:
                return True
        elif isinstance(found, Mapping):
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
    return False


class Makers:
    """Objects of the set that may create a missing target: jobs and custom resources that mention its name."""

    def __init__(self, around: PlanReferences) -> None:
        objects = around.after.objects
        self._objects = {
            key: objects[key]
            for key in around.changes
            if key in objects and (key[1] in _MAKERS or ("." in key[0] and not key[0].endswith(".k8s.io")))
        }
        self._found: dict[tuple[Key, Key], str] = {}

    def find(self, target: Key, source: Key) -> str:
        """Return the object that may create a missing target, "" if none mentions it."""
        if target[0] or target[1] not in ("ConfigMap", "Secret"):
            return ""
        asked = (target, source)
        if asked not in self._found:
            named = (
                show(key)
                for key, obj in self._objects.items()
                if key != source and _hold_text(obj.get("spec"), target[3])
            )
            self._found[asked] = next(named, "")
        return self._found[asked]


def _find_blamed(edge: Edge, around: PlanReferences) -> Iterator[Key]:
    """Yield the written objects that have the risk of an edge without a target."""
    if around.is_written(edge.source):
        yield edge.source
        return
    before = [e for e in around.before.edges.get(edge.source, ()) if (e.kind, e.path) == (edge.kind, edge.path)]
    if any(e.state.is_dangling or e.state is EdgeState.UNKNOWN for e in before):
        return
    # A written object that was a target before removed the object, the key, the port or the label.
    yield from dict.fromkeys(e.target for e in before if around.is_written(e.target))


def _is_deleted(key: Key, around: PlanReferences) -> bool:
    change = around.find_change(key)
    return change is not None and change.operation in DELETIONS


def _describe(edge: Edge, makers: Makers, around: PlanReferences) -> Risk:
    effect, level = _EFFECTS[edge.kind]
    facts = {"source": show(edge.source), "target": show(edge.target), "effect": effect}
    kind = _KINDS[edge.state]
    if kind is MATCHES_NOTHING:
        facts = {"source": show(edge.source), "selector": edge.detail, "effect": effect}
    if edge.state is not EdgeState.MISSING and edge.key:
        facts["key"] = edge.key
    if kind is DANGLING_REFERENCE and _is_deleted(edge.target, around):
        facts["removed"] = "yes"
    maker = makers.find(edge.target, edge.source) if kind is DANGLING_REFERENCE else ""
    if maker:
        facts["maker"] = maker
        level = RiskLevel.INFO
    return Risk(kind, level, facts=facts)


def _is_removed(key: Key, edge: Edge, around: PlanReferences) -> bool:
    """Return whether a reviewed deletion takes the target of an object that stays."""
    return key != edge.source and _is_deleted(key, around)


def find_dangling(around: PlanReferences) -> Iterator[tuple[Key, Risk]]:
    """Yield the risks of references that lead nowhere, each with the object that has it."""
    makers = Makers(around)
    seen: set[tuple[Key, Key, Key, RiskKind, str]] = set()
    for edges in around.after.edges.values():
        for edge in edges:
            if not edge.state.is_dangling or edge.kind not in _EFFECTS:
                continue
            for key in _find_blamed(edge, around):
                risk = _describe(edge, makers, around)
                if risk.level is not RiskLevel.INFO and _is_removed(key, edge, around):
                    risk = replace(risk, level=RiskLevel.HIGH)
                named = "" if edge.state is EdgeState.MISSING else edge.key + edge.detail
                once = (key, edge.source, edge.target, risk.kind, named)
                if once in seen:
                    continue
                seen.add(once)
                path = locate(around.after.objects.get(key), edge.path) if key == edge.source else ()
                yield key, Risk(risk.kind, risk.level, path, risk.facts)
