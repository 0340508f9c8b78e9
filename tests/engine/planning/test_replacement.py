"""Replacing an object whose change the server refuses: chosen, tried, shown with what goes with it, or only offered."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, Answer, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.live_values import withhold_live
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, Replacement
from applyviz.engine.requests.replacement import choose_names, find_odd_kinds, is_object, name_object, read_names
from applyviz.engine.risks.deletions import ADDRESS_LOST, DEPENDENTS, FINALIZERS, REPLACED
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from applyviz.engine.risks.model import RiskKind
from applyviz.engine.risks.sentences import describe_risk
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: IMAGE}]
"""
SECRET = """apiVersion: v1
kind: Secret
metadata: {name: key, namespace: default}
immutable: true
stringData: {token: VALUE}
"""
SERVICE = """apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  type: NodePort
  clusterIP: ADDRESS
  ports: [{port: 80}]
"""
CHOSEN = Replacement(objects=("batch/Job/default/migrate",))


def options_of(mode: ApplyMode, chosen: Replacement = CHOSEN, **more: object) -> ApplyOptions:
    return ApplyOptions(mode=mode, replacement=chosen, **more)


def plan_again(box: Box, text: str, options: ApplyOptions, **context: object) -> PlannedObject:
    return box.plan_one(text, options, server=EstimatingServer(), **context)


def with_job(mode: ApplyMode = ApplyMode.SERVER) -> Box:
    box = Box()
    box.apply(JOB.replace("IMAGE", "a:1"), ApplyOptions(mode=mode))
    return box


def kinds_of(change: PlannedObject) -> set[RiskKind]:
    return {risk.kind for risk in change.risks}


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_chosen_object_is_replaced_where_the_server_refuses_its_change(mode):
    box = with_job(mode)

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(mode))

    assert change.operation is Operation.REPLACE
    assert change.refused_fields == ("spec.template",)
    assert [r.method for r in change.requests] == ["DELETE", "POST" if mode is ApplyMode.CLIENT else "PATCH"]
    assert change.requests[0].body["propagationPolicy"] == "Background"
    assert change.versions.after["spec"]["template"]["spec"]["containers"][0]["image"] == "a:2"
    assert REPLACED in kinds_of(change)
    assert IMMUTABLE_FIELD not in kinds_of(change)
    told = next(describe_risk(r) for r in change.risks if r.kind is REPLACED)
    assert told.endswith("The server refuses to change spec.template.")


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_deletion_and_new_object_are_both_tried(mode):
    box = with_job(mode)
    box.asked.clear()

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(mode))

    tried = [(r.method, r.is_dry_run) for r in box.asked if r.is_write]
    assert tried == [("PATCH", True), ("DELETE", True), ("POST", True)]
    assert change.certainty is Certainty.ESTIMATED
    assert (
        change.certainty_reason == "the server accepts the deletion and the new object; what it fills in is estimated"
    )


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_result_on_the_server_is_the_planned_one(mode):
    box = with_job(mode)
    before = box.get("/apis/batch/v1/namespaces/default/jobs/migrate")
    plan = box.plan(JOB.replace("IMAGE", "a:2"), options_of(mode), server=EstimatingServer())

    box.run(plan)

    after = box.get("/apis/batch/v1/namespaces/default/jobs/migrate")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["template"]["spec"] == plan.changes[0].versions.after["spec"]["template"]["spec"]


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_status_of_the_deleted_object_is_no_change_of_a_field(mode):
    box = with_job(mode)
    path = "/apis/batch/v1/namespaces/default/jobs/migrate"
    status = {"status": {"startTime": "2026-06-01T00:00:00Z", "active": 1}}
    assert box.handle(Request("PATCH", f"{path}/status", {}, MERGE_PATCH, status)).is_ok

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(mode))

    assert change.operation is Operation.REPLACE
    assert [render_path(reason.path) for reason in change.fields if reason.path[0] == "f:status"] == []
    assert change.versions.live["status"]["active"] == 1


@pytest.mark.parametrize(
    "chosen",
    [
        Replacement(kinds=("batch/Job",)),
        Replacement(kinds=("Job",)),
        Replacement(objects=("Job/default/migrate",)),
        Replacement(policy_kinds=("batch/Job",)),
        Replacement(annotations=("x.io/anew",)),
    ],
    ids=["kind", "kind without group", "object without group", "policy", "annotation"],
)
def test_kinds_and_annotations_choose_objects_too(chosen):
    box = with_job()
    text = JOB.replace("IMAGE", "a:2").replace("default}", "default, annotations: {x.io/anew: 'true'}}")

    assert plan_again(box, text, options_of(ApplyMode.SERVER, chosen)).operation is Operation.REPLACE


@pytest.mark.parametrize(
    "chosen",
    [Replacement(), Replacement(objects=("batch/Job/other/migrate",)), Replacement(annotations=("x.io/anew",))],
)
def test_refused_object_that_nobody_chose_is_an_error_with_the_offer(chosen):
    box = with_job()
    text = JOB.replace("IMAGE", "a:2").replace("default}", "default, annotations: {x.io/anew: 'false'}}")

    change = plan_again(box, text, options_of(ApplyMode.SERVER, chosen))

    assert (change.operation, change.can_be_replaced) == (Operation.ERROR, True)
    assert change.refused_fields == ("spec.template",)
    assert change.requests == ()


def test_chosen_object_whose_change_is_accepted_is_updated():
    box = with_job()
    text = JOB.replace("IMAGE", "a:1").replace("default}", "default, labels: {a: b}}")

    assert plan_again(box, text, options_of(ApplyMode.SERVER)).operation is Operation.UPDATE


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("can_dry_run", [True, False])
def test_nothing_is_deleted_for_a_new_object_that_the_server_refuses_too(mode, can_dry_run):
    box = with_job(mode)
    text = JOB.replace("IMAGE", "a:2").replace("Never", "Sometimes")

    for chosen in (CHOSEN, Replacement()):
        change = plan_again(box, text, options_of(mode, chosen), can_dry_run=can_dry_run)

        assert (change.operation, change.requests, change.can_be_replaced) == (Operation.ERROR, (), False)
        assert "restartPolicy" in change.error


def test_refused_deletion_is_an_error():
    box = with_job()

    def forbid(request: Request) -> Answer | None:
        body = {"kind": "Status", "message": "admission webhook denied the request"}
        return Answer(403, body) if request.method == "DELETE" else None

    box.intercept = forbid
    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER))

    assert (change.operation, change.error) == (Operation.ERROR, "admission webhook denied the request")


def test_deletion_that_may_not_be_tried_is_estimated():
    box = with_job()

    def forbid(request: Request) -> Answer | None:
        body = {"kind": "Status", "message": 'jobs "migrate" is forbidden: cannot delete resource "jobs"'}
        return Answer(403, body) if request.method == "DELETE" else None

    box.intercept = forbid
    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER))

    assert change.operation is Operation.REPLACE


def allocated(*values: object) -> Answer:
    causes = [{"message": f"Invalid value: {v}: provided port is already allocated"} for v in values]
    return Answer(422, {"kind": "Status", "reason": "Invalid", "details": {"causes": causes}})


@pytest.mark.parametrize("is_of_another", [False, True])
def test_service_is_replaced_only_if_it_holds_the_port_in_use_itself(is_of_another):
    box = Box()
    box.apply(SERVICE.replace("ADDRESS", "10.96.0.20"))
    port = box.get("/api/v1/namespaces/default/services/web")["spec"]["ports"][0]["nodePort"]
    changed = SERVICE.replace("ADDRESS", "10.96.0.21")
    kinds = Replacement(kinds=("core/Service",))

    def refuse(request: Request) -> Answer | None:
        if request.method != "POST":
            return None
        return allocated(port, 30999) if is_of_another else allocated(port)

    box.intercept = refuse
    change = plan_again(box, changed, options_of(ApplyMode.SERVER, kinds))

    assert change.operation is (Operation.ERROR if is_of_another else Operation.REPLACE)
    if is_of_another:
        return
    told = next(describe_risk(r) for r in change.risks if r.kind is ADDRESS_LOST)
    assert told.startswith("Service web gives up cluster IP 10.96.0.20, node port 3")
    assert "gets another one" in told


def test_object_that_changed_meanwhile_is_read_again_and_not_replaced():
    box = with_job(ApplyMode.CLIENT)
    box.intercept = lambda r: Answer(409, {"reason": "Conflict", "message": "changed"}) if r.is_dry_run else None

    change = plan_again(
        box, JOB.replace("IMAGE", "a:1").replace("default}", "default, labels: {a: b}}"), options_of(ApplyMode.CLIENT)
    )

    assert change.operation is Operation.ERROR


@pytest.mark.parametrize(
    ("propagation", "told"),
    [
        (Propagation.BACKGROUND, "Pod one, Pod two belong to Job migrate and are deleted with it."),
        (Propagation.FOREGROUND, "Pod one, Pod two belong to Job migrate and are deleted with it."),
        (Propagation.ORPHAN, "Pod one, Pod two belong to Job migrate and stay, without an owner."),
    ],
)
def test_objects_that_belong_to_the_replaced_one_are_named(propagation, told):
    box = with_job()
    uid = box.get("/apis/batch/v1/namespaces/default/jobs/migrate")["metadata"]["uid"]
    for name, owner in (("one", uid), ("two", uid), ("free", ""), ("other", "another")):
        box.handle(Request("POST", "/api/v1/namespaces/default/pods", {}, JSON, pod(name, owner)))

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER, propagation=propagation))

    (risk,) = (r for r in change.risks if r.kind is DEPENDENTS)
    assert describe_risk(risk) == told
    assert change.requests[0].body["propagationPolicy"] == propagation.value
    assert (FINALIZERS in kinds_of(change)) == (propagation is Propagation.FOREGROUND)


def pod(name: str, owner: str) -> dict:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "migrate", "uid": owner}
    metadata = {"name": name, **({"ownerReferences": [reference]} if owner else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }


def test_kinds_that_may_not_be_listed_are_named():
    box = with_job()

    def forbid(request: Request) -> Answer | None:
        return Answer(403, {}) if request.path.endswith(("/pods", "/secrets")) else None

    box.intercept = forbid
    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER))

    (risk,) = (r for r in change.risks if r.kind is DEPENDENTS)
    assert describe_risk(risk) == "Not checked, because they could not be listed: pods, secrets."


def test_a_runner_lists_nothing():
    box = with_job()
    box.asked.clear()

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER), has_notes=False)

    assert change.operation is Operation.REPLACE
    assert not [request for request in box.asked if request.purpose == "list"]


def test_effect_is_the_same_with_and_without_notes_and_another_for_another_propagation():
    box = with_job()
    text = JOB.replace("IMAGE", "a:2")

    told = plan_again(box, text, options_of(ApplyMode.SERVER))
    plain = plan_again(box, text, options_of(ApplyMode.SERVER), has_notes=False)
    other = plan_again(box, text, options_of(ApplyMode.SERVER, propagation=Propagation.ORPHAN))

    assert effect(told) == effect(plain)
    assert effect(told) != effect(other)


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_readers_without_access_cannot_tell_that_a_secret_is_replaced(mode):
    box = Box()
    box.apply(SECRET.replace("VALUE", "one"), ApplyOptions(mode=mode))
    chosen = Replacement(kinds=("core/Secret",))

    replaced = plan_again(box, SECRET.replace("VALUE", "two"), options_of(mode, chosen))
    same = plan_again(box, SECRET.replace("VALUE", "one"), options_of(mode, chosen))

    assert (replaced.operation, same.operation) == (Operation.REPLACE, Operation.UNCHANGED)
    assert withhold_live(replaced).method == withhold_live(same).method
    assert not withhold_live(replaced).can_be_replaced


def test_kinds_are_read_from_text():
    assert read_names("batch/Job, core/Service  batch/Job") == ("batch/Job", "core/Service")
    assert find_odd_kinds(("batch/Job", "Job", "core/Service", "a/b/C")) == ("Job", "a/b/C")
    assert name_object(ObjectRef(GroupVersionKind("", "v1", "Node"), "", "a")) == "core/Node//a"


def test_explicit_force_needs_no_choice():
    box = with_job()
    options = replace(options_of(ApplyMode.SERVER, Replacement()), is_replacing_on_error=True)

    assert plan_again(box, JOB.replace("IMAGE", "a:2"), options).operation is Operation.REPLACE


CLASS = """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: PROVISIONER
"""


@pytest.mark.parametrize(("propagation", "count"), [(Propagation.BACKGROUND, 1), (Propagation.ORPHAN, 0)])
def test_objects_that_belong_to_a_cluster_scoped_one_are_not_listed(propagation, count):
    box = Box()
    box.apply(CLASS.replace("PROVISIONER", "a.io/a"))
    box.asked.clear()
    kinds = Replacement(kinds=("storage.k8s.io/StorageClass",))

    options = options_of(ApplyMode.SERVER, kinds, propagation=propagation)
    change = plan_again(box, CLASS.replace("PROVISIONER", "b.io/b"), options)

    assert change.operation is Operation.REPLACE
    assert sum(risk.kind is DEPENDENTS for risk in change.risks) == count
    assert not [request for request in box.asked if request.purpose == "list"]


def test_many_objects_are_counted():
    box = with_job()
    uid = box.get("/apis/batch/v1/namespaces/default/jobs/migrate")["metadata"]["uid"]
    for number in range(10):
        box.handle(Request("POST", "/api/v1/namespaces/default/pods", {}, JSON, pod(f"p{number}", uid)))

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER))

    (risk,) = (r for r in change.risks if r.kind is DEPENDENTS)
    assert describe_risk(risk).startswith("Pod p0, Pod p1, Pod p2, Pod p3, Pod p4, Pod p5, Pod p6, Pod p7 and 2 more")


def test_ownership_does_not_move_before_a_deletion():
    box = Box()
    kubectl = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
    box.apply(JOB.replace("IMAGE", "a:1"), kubectl)

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(ApplyMode.SERVER))

    assert [r.method for r in change.requests] == ["DELETE", "PATCH"]


def test_names_choose_kinds_and_objects_besides_those_of_policies():
    before = ApplyOptions(replacement=Replacement(policy_kinds=("core/Service",), objects=("core/Pod/a/b",)))

    after = choose_names(before, ("batch/Job", "batch/Job/default/migrate"))

    chosen = Replacement((("batch/Job/default/migrate"),), ("batch/Job",), ("core/Service",))
    assert after.replacement == chosen
    assert [is_object(n) for n in ("core/Node//a", "batch/Job", "batch/Job/default/", "x/y/z/w")] == [
        True, False, False, False,
    ]  # fmt: skip
