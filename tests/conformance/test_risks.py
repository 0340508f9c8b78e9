"""Does the family `risks` notice risks that are false or missing? Each test plants one."""

from __future__ import annotations

import pytest

from applyviz.conformance import risks
from applyviz.conformance.inputs import ApplyInput, Planned, plan_all, read_documents
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.risks.admission import ADMISSION_CHANGED
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from applyviz.engine.risks.model import KINDS
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.web.management.presenting import present
from tests.conformance.unjudged import UNJUDGED

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'web:1'}]}}
"""
POLICY = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}
"""
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
"""
SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==}}"
SERVICE = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, ports: [{port: 80}]}}"
BALANCER = SERVICE.replace("ClusterIP", "LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8]")
INGRESS = (
    "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {ingressClassName: inner, "
    "defaultBackend: {service: {name: s, port: {number: 80}}}}}"
)
CHOSEN = "{matchExpressions: [{key: a, operator: In, values: [b, c]}]}"
POD = "spec: {serviceAccountName: a, containers: [{name: c, image: 'a:1', args: [a, b], env: [{name: A}]}]}"
ACCOUNT = DEPLOYMENT.replace("spec: {containers: [{name: web, image: 'web:1'}]}", POD)
ENV = ACCOUNT
POLICY_RULES = (
    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p}, spec: {podSelector: {}, "
    "policyTypes: [Ingress, Egress], egress: [{ports: [{port: 53}]}]}}"
)
POLICY_TYPES = POLICY.replace("podSelector: {}, ", "podSelector: {}, policyTypes: [Ingress, Egress], ", 1)
CLASS = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: p}, value: 1}"
CASES = [
    ("pods-restart", DEPLOYMENT, DEPLOYMENT.replace("web:1", "web:2")),
    (
        "template-waits",
        DEPLOYMENT,
        DEPLOYMENT.replace("web:1", "web:2").replace("spec:\n", "spec:\n  paused: true\n"),
    ),
    ("immutable-field", DEPLOYMENT, DEPLOYMENT.replace("app: web", "app: net")),
    ("unknown-field", DEPLOYMENT, DEPLOYMENT.replace("replicas: 2", "replica: 2")),
    ("repeating-patch", POLICY, POLICY.replace("80", "81")),
    ("restricts-less", POLICY_TYPES, POLICY_TYPES.replace("policyTypes: [Ingress, Egress], ", "")),
    ("allows-nothing", POLICY_RULES, POLICY_RULES.replace(", egress: [{ports: [{port: 53}]}]", "")),
    ("restricts-more", POLICY_TYPES.replace(", Egress", ""), POLICY_RULES.replace("name: p", "name: web")),
    ("rules-without-effect", POLICY_RULES, POLICY_RULES.replace("Ingress, Egress", "Ingress")),
    ("secret-content", SECRET, SECRET.replace("eA==", "eQ==")),
    ("rbac", ROLE, ROLE.replace("get", "list")),
    ("exposed", SERVICE, SERVICE.replace("ClusterIP", "NodePort")),
    ("exposed", BALANCER, BALANCER.replace("loadBalancerSourceRanges: [10.0.0.0/8], ", "")),
    ("exposed", BALANCER, BALANCER.replace("[10.0.0.0/8]", "[10.1.0.0/16, 10.0.0.0/7]")),
    ("exposed", BALANCER, BALANCER.replace("[10.0.0.0/8]", "[0.0.0.0/1, 10.0.0.0/8, 128.0.0.0/1]")),
    ("endpoints-stay", SERVICE.replace("type", "selector: {a: b}, type"), SERVICE),
    ("endpoints-replaced", SERVICE, SERVICE.replace("type", "selector: {a: b}, type")),
    ("class-changes", INGRESS, INGRESS.replace("inner", "outer")),
    ("class-changes", INGRESS, INGRESS.replace("ingressClassName: inner, ", "")),
    ("restricts-less", POLICY, POLICY.replace("{}", "{matchLabels: {a: b}}", 1)),
    ("restricts-less", POLICY.replace("{}", CHOSEN, 1), POLICY.replace("{}", "{matchLabels: {a: b}}", 1)),
    ("restricts-more", POLICY.replace("{}", CHOSEN, 1), POLICY),
    ("removal-without-effect", ACCOUNT, ACCOUNT.replace("serviceAccountName: a, ", "")),
    ("order-churn", POLICY_TYPES, POLICY_TYPES.replace("[Ingress, Egress]", "[Egress, Ingress]")),
    ("duplicate-merge-key", ENV, ENV.replace("{name: A}", "{name: A}, {name: A, value: b}")),
    ("invalid-entry", SECRET, SECRET.replace("a: eA==", "a: no base64")),
    ("cluster-scoped", CLASS, CLASS.replace("value: 1", "value: 1, description: x")),
]


def plan(before: str, after: str) -> Planned:
    given = ApplyInput("x", read_documents(after), before=((read_documents(before), ApplyMode.CLIENT),))
    return next(plan_all(given))


@pytest.mark.parametrize(("kind", "before", "after"), CASES, ids=[kind for kind, *_rest in CASES])
def test_risk_that_is_missing_is_noticed(kind, before, after):
    planned = plan(before, after)
    told = {risk.kind.slug for risk in planned.change.risks}

    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    assert list(risks.find_wrong(risks.Facts(planned), told - {kind})) == [f"{kind} is missing"]


def test_patch_that_is_sent_again_after_an_apply_that_changes_something_repeats():
    ports = "ports: [{containerPort: 9090}, {containerPort: 9090, protocol: UDP}]"
    before = DEPLOYMENT.replace("image: 'web:1'", f"image: 'web:1', {ports}").replace("replicas: 2", "replicas: null")
    planned = plan(before, before.replace("{containerPort: 9090}, ", ""))  # removes both; the next adds one again
    told = {risk.kind.slug for risk in planned.change.risks}

    assert {"shared-merge-key", "repeating-patch"} <= told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []


@pytest.mark.parametrize("kind", sorted(risks.PREDICATES))
def test_risk_that_is_false_is_noticed(kind):
    planned = plan("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: a}}", SAME)

    assert list(risks.find_wrong(risks.Facts(planned), {kind})) == [f"{kind} is false"]


SAME = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: b}}"


LABELED = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {mine: x}}, data: {k: a}}"
WEBHOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: 'https://a.example.com', caBundle: eA==}
"""


def plan_after(before: str, change, after: str, mode: ApplyMode) -> Planned:
    """Plan a manifest over an object that another manager wrote to; `change` changes it as live."""
    first = plan_in(before, before, mode)
    live = first.cluster.find(first.change)
    given = ApplyInput("x", read_documents(after), live=(change(live),))
    return next(one for one in plan_all(given) if one.mode is mode)


def plan_in(before: str, after: str, mode: ApplyMode) -> Planned:
    given = ApplyInput("x", read_documents(after), before=((read_documents(before), mode),))
    return next(one for one in plan_all(given) if one.mode is mode)


def add_owner(live, **fields_of_theirs):
    entry = {"manager": "other", "operation": "Update", "apiVersion": live["apiVersion"], "fieldsType": "FieldsV1"}
    owners = [*live["metadata"]["managedFields"], {**entry, "fieldsV1": fields_of_theirs}]
    return {**live, "metadata": {**live["metadata"], "managedFields": owners}}


def test_field_that_stays_with_another_owner_is_noticed():
    labels = {"f:metadata": {"f:labels": {"f:mine": {}}}}
    planned = plan_after(
        LABELED, lambda live: add_owner(live, **labels), LABELED.replace(", labels: {mine: x}", ""), ApplyMode.SERVER
    )
    told = {risk.kind.slug for risk in planned.change.risks}

    assert "removal-will-not-happen" in told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_deletion_that_has_begun_is_noticed(mode: ApplyMode):
    begun = {"deletionTimestamp": "2026-06-01T00:00:00Z", "finalizers": ["example.com/hold"]}
    planned = plan_after(LABELED, lambda live: {**live, "metadata": {**live["metadata"], **begun}}, LABELED, mode)
    told = {risk.kind.slug for risk in planned.change.risks}

    assert "terminating" in told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    assert list(risks.find_wrong(risks.Facts(planned), told - {"terminating"})) == ["terminating is missing"]


def test_certificate_that_another_manager_wrote_is_noticed():
    bundle = {"f:webhooks": {'k:{"name":"a.example.com"}': {"f:clientConfig": {"f:caBundle": {}}}}}
    planned = plan_after(
        WEBHOOK, lambda live: add_owner(live, **bundle), WEBHOOK.replace("eA==", "eQ=="), ApplyMode.CLIENT
    )
    told = {risk.kind.slug for risk in planned.change.risks}

    assert "injected-value" in told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []


def test_every_kind_is_judged_or_has_a_reason():
    assert {*risks.PREDICATES, *UNJUDGED} == KINDS.keys()
    assert not set(risks.PREDICATES) & set(UNJUDGED)


JOB_CHANGES = [
    ("", {}, "suspend: true, "),
    ("", {}, "parallelism: 1, "),
    ("completions: 9, completionMode: Indexed, ", {}, "completions: 3, "),
    ("", {"failed": 3}, "backoffLimit: 2, "),
    ("", {}, "activeDeadlineSeconds: 60, "),
]


def change_job(spec: str, status: dict[str, object], change: str, mode: ApplyMode) -> Planned:
    """Plan a change of a Job that has three active pods."""
    head = "apiVersion: batch/v1, kind: Job, metadata: {name: j}"
    pod = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'c:1'}]}}"
    before = f"{{{head}, spec: {{parallelism: 3, {spec}{pod}}}}}"
    name = change.partition(":")[0]
    kept = "".join(f"{part}, " for part in ["parallelism: 3", *spec.split(", ")] if part and not part.startswith(name))
    after = f"{{{head}, spec: {{{kept}{change}{pod}}}}}"
    return plan_after(before, lambda live: {**live, "status": {"active": 3, **status}}, after, mode)


@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize(("spec", "status", "change"), JOB_CHANGES)
def test_pods_of_a_job_that_are_deleted_are_noticed(mode, spec, status, change):
    status = {**status, "succeeded": 1, "completedIndexes": "0"} if spec else status
    planned = change_job(spec, status, change, mode)
    told = {risk.kind.slug for risk in planned.change.risks}

    assert "job-pods-deleted" in told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    assert list(risks.find_wrong(risks.Facts(planned), told - {"job-pods-deleted"})) == ["job-pods-deleted is missing"]


@pytest.mark.parametrize("mode", ApplyMode)
def test_pods_of_a_job_that_succeeded_once_stay(mode):
    planned = change_job("", {"active": 2, "succeeded": 1}, "parallelism: 1, ", mode)
    told = {risk.kind.slug for risk in planned.change.risks}

    assert "job-pods-deleted" not in told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    assert "job-pods-deleted is false" in list(risks.find_wrong(risks.Facts(planned), {*told, "job-pods-deleted"}))


STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  serviceName: a
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'c:1'}]}}
  volumeClaimTemplates:
  - metadata: {name: d}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


NUMBERED = STATEFUL.replace("serviceName: a", "serviceName: a\n  replicas: 3\n  ordinals: {start: 1}")
TEMPLATED = NUMBERED.replace("c:1", "c:2")
PARTED = "\n  updateStrategy: {rollingUpdate: {partition: 2}}"


@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize(
    ("after", "told_now"),
    [
        (NUMBERED.replace("start: 1", "start: 2"), {"pods-renumbered"}),
        (NUMBERED.replace("\n  ordinals: {start: 1}", ""), {"pods-renumbered"}),
        (NUMBERED.replace("start: 1", "start: 0").replace("replicas: 3", "replicas: 4"), set()),
        (TEMPLATED.replace("start: 1", "start: 2"), {"pods-renumbered", "pods-restart"}),
        (TEMPLATED.replace("start: 1", "start: 9"), {"pods-renumbered"}),
        (TEMPLATED.replace("start: 1}", "start: 3}" + PARTED), {"pods-renumbered", "template-waits"}),
        (TEMPLATED.replace("start: 1}", "start: 0}" + PARTED), {"pods-renumbered", "pods-restart"}),
    ],
)
def test_pods_that_get_other_numbers_are_noticed(mode, after, told_now):
    planned = plan_after(NUMBERED, lambda live: live, after, mode)
    told = {risk.kind.slug for risk in planned.change.risks}
    ours = {"pods-renumbered", "pods-restart", "template-waits"}

    assert told & ours == told_now
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    for kind in ours:
        state = "missing" if kind in told else "false"
        assert list(risks.find_wrong(risks.Facts(planned), told ^ {kind})) == [f"{kind} is {state}"]


def test_field_that_the_server_would_change_is_not_immutable():
    planned = plan(STATEFUL, STATEFUL.replace("serviceName: a", "serviceName: b").replace("1Gi", "'1073741824'"))
    claims = IMMUTABLE_FIELD.at(fields("spec", "volumeClaimTemplates"), {"field": "x", "kind": "StatefulSet"})
    named = replace(planned, change=replace(planned.change, risks=(*planned.change.risks, claims)))

    found = [risks.judge(one, present(one.change, one.options)).reason for one in (planned, named)]
    assert found == ["", ".spec.volumeClaimTemplates is not immutable"]


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {%sbackoffLimit: %d, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
"""


def test_field_that_a_default_changes_is_named_by_the_server():
    """Without `parallelism`, the completions of a Job get a default; its own manifest never had them."""
    planned = plan(JOB % ("parallelism: 2, ", 6), JOB % ("", 6))
    claims = IMMUTABLE_FIELD.at(fields("spec", "backoffLimit"), {"field": "x", "kind": "Job"})
    named = replace(planned, change=replace(planned.change, risks=(*planned.change.risks, claims)))

    assert [risk.path for risk in planned.change.risks if risk.kind is IMMUTABLE_FIELD] == [
        fields("spec", "completions")
    ]
    found = [risks.judge(one, present(one.change, one.options)).reason for one in (planned, named)]
    assert found == ["", ".spec.backoffLimit is not immutable"]


def test_refused_object_has_no_risk_of_an_answer():
    planned = plan(DEPLOYMENT, DEPLOYMENT.replace("app: web", "app: net").replace("replicas: 2", "replicas: null"))

    assert list(risks.find_wrong(risks.Facts(planned), {"immutable-field"})) == []
    wrong = list(risks.find_wrong(risks.Facts(planned), {"immutable-field", "null-defaults-again"}))
    assert wrong == ["null-defaults-again is false"]


GADGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items: {type: object, required: [port], properties: {port: {type: integer}}}
"""
GADGET = """
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g, namespace: shop}
spec: {tags: [x], ports: [{port: 1}]}
"""
OWNED = {
    "one": {"f:tags": {'v:"b"': {}}, "f:ports": {'k:{"port":2}': {".": {}, "f:port": {}}}},
    "other": {"f:tags": {'v:"x"': {}}, "f:ports": {'k:{"port":1}': {".": {}, "f:port": {}}}},
}


def test_lost_entry_is_that_of_the_manager_who_owns_it():
    (definition,), (gadget,) = (tuple(d.obj for d in read_documents(text)) for text in (GADGETS, GADGET))
    entries = [
        {"manager": name, "operation": "Update", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
         "fieldsV1": {"f:spec": owned}}
        for name, owned in OWNED.items()
    ]  # fmt: skip
    live = {**gadget, "spec": {"tags": ["x", "b", "c"], "ports": [{"port": 1}, {"port": 2}, {"port": 3}]}}
    live["metadata"] = {**gadget["metadata"], "managedFields": entries}
    given = ApplyInput("x", read_documents(GADGET), (live,), (), (definition,))
    planned = next(plan_all(given))

    lost = [risk.facts for risk in planned.change.risks if risk.kind.slug == "atomic-list-replaced"]
    assert [(one["list"], one["lost"], one["owners"]) for one in lost] == [("tags", "1", "one"), ("ports", "1", "one")]
    assert risks.judge(planned, present(planned.change, planned.options)).reason == ""


BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {SPEC}\n"
SELECTOR = "selector: {matchLabels: {a: b}}"


def test_field_in_conflict_is_not_given_up():
    before = BUDGET.replace("SPEC", f"minAvailable: 1, {SELECTOR}")
    after = before.replace("minAvailable: 1", "minAvailable: 2")
    planned = plan_after(
        before, lambda live: add_owner(live, **{"f:spec": {"f:minAvailable": {}}}), after, ApplyMode.SERVER
    )

    assert planned.change.conflicts
    assert "removal-will-not-happen" not in {risk.kind.slug for risk in planned.change.risks}
    path = fields("spec", "minAvailable")
    for kind, facts in ((REMOVAL_WILL_NOT_HAPPEN, {"owners": "other"}), (ADMISSION_CHANGED, {"how": ""})):
        change = replace(planned.change, risks=(kind.at(path, {"field": "x", **facts}),))
        assert risks.judge(replace(planned, change=change), present(change, planned.options)).reason != ""
