"""Is a promise found broken in both directions, and nothing else?"""

from __future__ import annotations

import copy

import pytest

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.workflow.plans.outcome_check import find_broken, take_promised

UID, OTHER_UID = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def deployment(**spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "uid": UID}, "spec": spec}


def job(uid, **spec):
    labels = {"controller-uid": uid, "batch.kubernetes.io/controller-uid": uid, "job-name": "once"}
    template = {"metadata": {"labels": labels}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    metadata = {"name": "once", "uid": uid}
    spec = {"selector": selector, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def promised_job(**spec):
    template = {"metadata": {"labels": {"job-name": "once"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {"template": template, **spec},
    }


def broken(promised, got, **more):
    group, _, version = promised["apiVersion"].rpartition("/")
    kind = bundled().find_kind(GroupVersionKind(group, version, promised["kind"]))
    options = {"is_confirmed": False, "omits_empty": True, **more}
    return [render_path(d.path) for d in find_broken(promised, got, root=kind.root, **options)]


BOTH = pytest.mark.parametrize("is_confirmed", [True, False], ids=["confirmed", "estimated"])


def config_map(text):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"every": text}}


@BOTH
@pytest.mark.parametrize(("promised", "got"), [("60s", "1m"), ("1000m", "1"), ("1.0", "1")])
def test_other_text_is_broken_although_it_reads_like_the_same_amount(promised, got, is_confirmed):
    assert broken(config_map(promised), config_map(got), is_confirmed=is_confirmed) == [".data.every"]


@BOTH
def test_other_spelling_of_an_amount_is_not_broken(is_confirmed):
    spec = [{"hard": {"cpu": cpu}} for cpu in ("1000m", "1")]
    promised, got = ({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": s} for s in spec)

    assert broken(promised, got, is_confirmed=is_confirmed) == []


@BOTH
def test_removal_that_did_not_happen_is_broken(is_confirmed):
    before = deployment(replicas=3, minReadySeconds=5)

    assert broken(deployment(replicas=3), before, before=before, is_confirmed=is_confirmed) == [".spec.minReadySeconds"]


@BOTH
def test_removal_that_ended_in_another_value_is_broken(is_confirmed):
    before = deployment(replicas=3, revisionHistoryLimit=2)
    got = deployment(replicas=3, revisionHistoryLimit=10)

    found = broken(deployment(replicas=3), got, before=before, is_confirmed=is_confirmed)

    assert found == [".spec.revisionHistoryLimit"]


@BOTH
def test_change_that_did_not_happen_is_broken(is_confirmed):
    before = deployment(replicas=3)

    assert broken(deployment(replicas=4), before, before=before, is_confirmed=is_confirmed) == [".spec.replicas"]


def test_list_that_stayed_as_it_was_is_broken():
    args = {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}}
    less = {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}

    assert broken(deployment(**less), deployment(**args), before=deployment(**args)) == [".spec.selector"]


def test_default_that_was_not_estimated_is_not_broken():
    assert broken(deployment(replicas=3), deployment(replicas=3, revisionHistoryLimit=10)) == []


def test_addition_that_was_not_confirmed_is_broken():
    got = deployment(replicas=3, revisionHistoryLimit=10)

    assert broken(deployment(replicas=3), got, is_confirmed=True) == [".spec.revisionHistoryLimit"]


@pytest.mark.parametrize("empty", [0, False, None, "", {}, []])
def test_empty_value_that_the_api_leaves_out_is_not_broken(empty):
    assert broken(deployment(minReadySeconds=empty), deployment()) == []


def test_entry_of_a_map_is_never_left_out():
    promised = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": ""}}

    assert broken(promised, {**promised, "data": {}}) == [".data.key"]


def test_empty_value_of_a_custom_resource_is_never_left_out():
    assert broken(deployment(minReadySeconds=0), deployment(), omits_empty=False)[0] == ".spec.minReadySeconds"


@BOTH
def test_uid_that_a_job_holds_is_not_broken(is_confirmed):
    assert broken(promised_job(), job(UID), is_confirmed=is_confirmed) == []


@BOTH
def test_uid_of_another_object_in_a_job_is_broken(is_confirmed):
    got = job(UID)
    got["spec"]["template"]["metadata"]["labels"]["job-name"] = OTHER_UID

    assert broken(promised_job(), got, is_confirmed=is_confirmed) == [".spec.template.metadata.labels.job-name"]


def test_write_of_a_controller_beside_the_plan_is_not_broken():
    before = deployment(replicas=3, minReadySeconds=5)
    got = {**deployment(replicas=7), "metadata": {"name": "web", "annotations": {"revision": "2"}}}

    found = broken(deployment(replicas=3), got, before=before, has_moved=True, is_confirmed=True)

    assert found == []


@BOTH
def test_address_that_was_asked_for_is_promised(is_confirmed):
    def service(**spec):
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}

    promised = service(clusterIP="10.0.0.7")

    assert broken(promised, service(clusterIP="10.0.0.8"), is_confirmed=is_confirmed) == [".spec.clusterIP"]
    assert broken(service(), service(clusterIP="10.0.0.8", clusterIPs=["10.0.0.8"]), is_confirmed=is_confirmed) == []


REVISION = "deployment.kubernetes.io/revision"


def annotated(revision="", **spec):
    obj = deployment(**spec)
    return {**obj, "metadata": {**obj["metadata"], "annotations": {REVISION: revision}}} if revision else obj


@BOTH
@pytest.mark.parametrize(
    ("before", "promised", "got", "is_broken"),
    [
        ("", "", "1", False),  # the controller was faster than the plan
        ("1", "1", "2", False),
        ("1", "", "1", False),  # removed with other annotations, and written again
        ("", "7", "1", True),  # the manifest sets what belongs to the controller
        ("1", "7", "1", True),
    ],
)
def test_what_a_controller_writes_is_no_broken_promise(before, promised, got, is_broken, is_confirmed):
    before, promised, got = (
        annotated(revision, replicas=count) for revision, count in ((before, 2), (promised, 3), (got, 3))
    )

    found = broken(promised, got, before=before, is_confirmed=is_confirmed)

    assert found == ([f".metadata.annotations.{REVISION}"] if is_broken else [])
    another = {**got, "metadata": {**got["metadata"], "annotations": {"example.com/by-hand": "1"}}}
    assert ".metadata.annotations.example.com/by-hand" in broken(promised, another, before=before, is_confirmed=True)


@BOTH
@pytest.mark.parametrize(
    ("value", "promised", "is_broken"), [("true", 9000, False), ("true", 9100, True), ("false", 9000, True)]
)
def test_flow_that_the_server_keeps_itself_is_no_broken_promise(value, promised, is_broken, is_confirmed):
    def flow(precedence):
        metadata = {"name": "f", "annotations": {"apf.kubernetes.io/autoupdate-spec": value}}
        head = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": metadata}
        return {**head, "spec": {"matchingPrecedence": precedence}}

    found = broken(flow(promised), flow(8000), before=flow(9000), is_confirmed=is_confirmed)

    assert found == ([".spec.matchingPrecedence"] if is_broken else [])


def written(version="1", time="2026-06-01T00:00:00Z", **spec):
    entry = {"manager": "applyviz", "operation": "Apply", "time": time, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    found = deployment(**spec)
    return {**found, "metadata": {**found["metadata"], "resourceVersion": version, "managedFields": [entry]}}


def test_object_that_was_written_as_promised_is_the_promised_one():
    promised = written(replicas=3)
    got = written("2", "2026-06-01T00:00:09Z", replicas=3)

    assert take_promised(promised, got) is promised
    assert broken(promised, got) == broken(promised, promised) == []


@pytest.mark.parametrize(
    "got",
    [
        written("2", replicas=4),
        written("2", replicas=3.0),
        written("2", replicas=True),
        written("2", replicas=3, paused=False),
        written("x", replicas=3),
        written("2", "later", replicas=3),
        deployment(replicas=3),
    ],
    ids=["value", "float", "boolean", "more", "version", "time", "owners"],
)
def test_object_with_any_other_part_is_compared(got):
    promised = written(replicas=1 if got["spec"]["replicas"] is True else 3)
    before = copy.deepcopy([promised, got])

    assert take_promised(promised, got) is got
    assert [promised, got] == before


def test_object_without_a_promise_is_itself():
    got = written(replicas=3)

    assert take_promised(None, got) is got
