"""The facts about a change whose effect is wider than its object: on permissions, kinds, admission, namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.risks.model import RiskKind, RiskSubject
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.permissions import compare_permissions
from applyviz.engine.risks.schema_changes import compare_definitions
from applyviz.engine.risks.walking import list_at, map_at


def _list_rules(obj: JSONObject) -> Iterator[JSONValue]:
    """Yield the rules by which requests are chosen, of webhooks and of policies."""
    for hook in list_at(obj, "webhooks"):
        yield from list_at(hook, "rules")
    yield from list_at(obj, "spec", "matchConstraints", "resourceRules")


def _name_requests(rule: JSONValue) -> str:
    verbs = [str(verb).lower() for verb in list_at(rule, "operations")]
    resources = [str(one) for one in list_at(rule, "resources")]
    verb = "every request" if "*" in verbs else f"{join_names(verbs)} requests"
    return f"{verb} for {'every resource' if '*' in resources else join_names(resources)}"


def _describe_admission(obj: JSONObject) -> dict[str, str]:
    spec = map_at(obj, "spec")
    policies = {
        str(hook.get("failurePolicy", "Fail")) for hook in list_at(obj, "webhooks") if isinstance(hook, Mapping)
    }
    return {
        "policy": str(spec.get("policyName") or ""),
        "actions": join_names(str(action) for action in list_at(spec, "validationActions")),
        "requests": join_names(_name_requests(rule) for rule in _list_rules(obj)),
        "failure": "Fail" if "Fail" in policies else join_names(sorted(policies)),
    }


def _describe_server(obj: JSONObject) -> dict[str, str]:
    service = map_at(obj, "spec", "service")
    return {"service": f"{service.get('namespace')}/{service.get('name')}" if service else ""}


def list_reach_facts(kind: RiskKind, subject: RiskSubject) -> dict[str, str]:
    """Return what a change of this kind means beyond its object; facts without a text are left out."""
    before = subject.live
    after = None if subject.manifest is None else subject.result or subject.manifest
    state = "gone" if after is None else "new" if before is None else ""
    match kind:
        case RiskKind.RBAC_CHANGED:
            return compare_permissions(subject.ref.gvk.kind, before, after)
        case RiskKind.CRD_CHANGED:
            facts = {"defined": subject.ref.name, **compare_definitions(before, after)}
        case RiskKind.ADMISSION_RULES_CHANGED:
            facts = _describe_admission(after or before or {})
        case RiskKind.API_SERVICE_CHANGED:
            facts = {"state": state, **_describe_server(after or {})}
        case RiskKind.NAMESPACE_CHANGED:
            facts = {"state": state}
        case _:
            facts = {}
    return {name: text for name, text in facts.items() if text}
