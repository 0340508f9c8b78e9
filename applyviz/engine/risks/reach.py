"""A change whose effect is wider than its object: on permissions, kinds, admission, API servers and namespaces.

Rule: kinds whose change reaches beyond a namespace or changes permissions, and the namespaces of Kubernetes itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.kinds import find_stored
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.permissions import compare_permissions
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.schema_changes import compare_definitions
from applyviz.engine.risks.walking import list_at, map_at, metadata_of

# What a write records of itself, in metadata.
_RECORDS = frozenset(
    ("creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid")
)
_SYSTEM_PREFIX = "kube-"
# What else differs, after what is named: by whether that is one field, and whether anything is named.
_OTHERS: Mapping[tuple[bool, bool], str] = {
    (True, True): "The schemas differ in 1 more field.",
    (False, True): "The schemas differ in {others} more fields.",
    (True, False): "The schemas differ in 1 field.",
    (False, False): "The schemas differ in {others} fields.",
}
_SAME = "Its permissions stay the same."
_WITHOUT_PERMISSIONS = {
    ("new", False): "It has no rules, so it gives no permissions.",
    ("gone", False): "It has no rules, so no permissions are lost.",
    ("new", True): "It binds {role} to no subjects, so it gives no permissions.",
    ("gone", True): "It binds {former} to no subjects, so no permissions are lost.",
}
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


_BOUND = {
    "judges": "Judges {requests} wherever a binding asks for it.",
    "changes": "Changes {requests} wherever a binding asks for it.",
}
_ENDS = {
    "judges": "No longer judges {requests}.",
    "changes": "No longer changes {requests}.",
    "gets": "No longer gets {requests}.",
}


def _name_verb(kind: str) -> str:
    """Return what an object of a kind does with requests."""
    if not kind.endswith("Policy"):
        return "gets"
    return "changes" if kind.startswith("Mutating") else "judges"


def _describe_admission(f: Facts) -> Templates:
    """Return the sentences about the requests that a webhook or an admission policy gets, changes or judges."""
    if f.get("state") == "gone" and (f.get("policy") or f.get("requests")):
        if f.get("policy"):
            return ("No longer binds {policy}.",)
        return (_ENDS[_name_verb(f["kind"])],)
    if f.get("policy"):
        return ("Binds {policy}: {actions}." if f.get("actions") else "Binds {policy}.",)
    if not f.get("requests"):
        return ("{kind} {name} gets no requests.",)
    if f["kind"].endswith("Policy"):
        return (_BOUND[_name_verb(f["kind"])],)
    return ("Gets {requests} before they are stored.", *((_FAILS[f["failure"]],) if f.get("failure") in _FAILS else ()))


def _describe_server(f: Facts) -> Templates:
    """Return the sentence about the requests that another server answers."""
    if f.get("state") == "gone":
        return ("No server answers requests for {name} any more.",)
    if f.get("service"):
        return ("Service {service} answers all requests for {name}.",)
    return ("The API server itself answers requests for {name}.",)


def _describe_namespace(f: Facts) -> Templates:
    """Return the sentence about what is in a namespace that changes."""
    if f.get("state") == "new":
        return ("Namespace {name} is new: nothing is in it yet.",)
    return ("Changes to Namespace {name} can affect everything in it.",)


def _describe_permissions(f: Facts) -> Templates:
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
    return tuple(found) or (_WITHOUT_PERMISSIONS.get((f.get("state", ""), f["kind"].endswith("Binding")), _SAME),)


def _describe_definition(f: Facts) -> Templates:
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
        found.append(_OTHERS[f["others"] == "1", bool(found)])
    return tuple(found) or ("The fields and versions of the kind stay the same.",)


RBAC_CHANGED = RiskKind("rbac", "RBAC changes", _describe_permissions, level=RiskLevel.HIGH, policy_order=70)
CRD_CHANGED = RiskKind("crd", "CRD schema changes", _describe_definition, level=RiskLevel.HIGH, policy_order=80)
API_SERVICE_CHANGED = RiskKind(
    "api-service", "API service changes", _describe_server, level=RiskLevel.HIGH, policy_order=90
)
ADMISSION_RULES_CHANGED = RiskKind(
    "webhook", "Admission policy or webhook changes", _describe_admission, level=RiskLevel.HIGH, policy_order=100
)
NAMESPACE_CHANGED = RiskKind("namespace", "Namespace changes", _describe_namespace, policy_order=110)
CLUSTER_SCOPED = RiskKind(
    "cluster-scoped",
    "Cluster-scoped object",
    "{kind} {name} is cluster-scoped: it affects the whole cluster.",
    policy_order=120,
)
SYSTEM_NAMESPACE = RiskKind(
    "kube-system", "In a system namespace", "Kubernetes itself runs in namespace {namespace}.", policy_order=130
)
_BY_GROUP: Mapping[str, Mapping[str, RiskKind]] = {
    "rbac.authorization.k8s.io": dict.fromkeys(
        ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), RBAC_CHANGED
    ),
    "admissionregistration.k8s.io": {
        f"{how}{what}": ADMISSION_RULES_CHANGED
        for how in ("Mutating", "Validating")
        for what in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
    },
    "apiextensions.k8s.io": {"CustomResourceDefinition": CRD_CHANGED},
    "apiregistration.k8s.io": {"APIService": API_SERVICE_CHANGED},
    "": {"Namespace": NAMESPACE_CHANGED},
}


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


def _list_admission_facts(obj: JSONObject) -> dict[str, str]:
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


def _list_server_facts(obj: JSONObject) -> dict[str, str]:
    service = map_at(obj, "spec", "service")
    return {"service": f"{service.get('namespace')}/{service.get('name')}" if service else ""}


def _list_facts(kind: RiskKind, subject: RiskSubject) -> dict[str, str]:
    """Return what a change of this kind means beyond its object; facts without a text are left out."""
    before = subject.live
    after = None if subject.manifest is None else subject.result or subject.manifest
    facts: dict[str, str] = {}
    if kind in (RBAC_CHANGED, ADMISSION_RULES_CHANGED, API_SERVICE_CHANGED, NAMESPACE_CHANGED):
        facts["state"] = "gone" if after is None else "new" if before is None else ""
    if kind is RBAC_CHANGED:
        facts |= compare_permissions(subject.ref.gvk.kind, before, after)
    if kind is CRD_CHANGED:
        facts = {"defined": subject.ref.name, **compare_definitions(before, after)}
    elif kind is ADMISSION_RULES_CHANGED:
        facts |= _list_admission_facts(after or before or {})
    elif kind is API_SERVICE_CHANGED:
        facts |= _list_server_facts(after or {})
    return {name: text for name, text in facts.items() if text}


def _find_kind(subject: RiskSubject) -> RiskKind | None:
    group, kind = find_stored(*subject.ref.key[:2])
    found = _BY_GROUP.get(group, {}).get(kind)
    return found or (None if subject.is_namespaced else CLUSTER_SCOPED)


def _without_records(obj: JSONObject) -> JSONObject:
    """Return an object without its status and what every write records; labels and annotations have effects."""
    metadata = {name: value for name, value in metadata_of(obj).items() if name not in _RECORDS}
    annotations = {name: text for name, text in map_at(metadata, "annotations").items() if name != LAST_APPLIED}
    kept = {name: value for name, value in obj.items() if name != "status"}
    return {**kept, "metadata": {**metadata, "annotations": annotations}}


def _is_changed(subject: RiskSubject) -> bool:
    if subject.manifest is None or subject.live is None or subject.result is None:
        return True
    return not is_same_json(_without_records(subject.live), _without_records(subject.result))


@rule(250)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a change beyond a namespace, to permissions, or to what Kubernetes itself runs on."""
    if not _is_changed(subject):
        return
    facts = {"kind": subject.ref.gvk.kind, "name": subject.ref.name}
    kind = _find_kind(subject)
    if kind is not None:
        yield kind.at((), facts | _list_facts(kind, subject))
    namespace = subject.ref.name if kind is NAMESPACE_CHANGED else subject.ref.namespace
    if namespace.startswith(_SYSTEM_PREFIX):
        yield SYSTEM_NAMESPACE.at((), {**facts, "namespace": namespace})
