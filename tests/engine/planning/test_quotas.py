"""ResourceQuotas beside the pods of a plan: used now, after apply, hard, and the risk of what does not fit."""

import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.graph.graph import relate
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.planning.model.quotas import check_quotas
from applyviz.engine.planning.model.resources import count_amount, write_amount
from applyviz.engine.risks.model import RelatedObjects
from applyviz.engine.risks.planning.pods import QUOTA_EXCEEDED
from applyviz.engine.risks.quota_reads import LiveQuotas, list_quota_reads, read_quotas
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.discovery import ResourceTable
from tests.engine.planning.test_resources import change, container, workload


def quota(hard, used=None, *, name="compute", namespace="shop", **spec):
    status = {} if used is None else {"used": used}
    meta = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta,
        "spec": {"hard": hard, **spec},
        "status": status,
    }


def limit_range(*items):
    meta = {"name": "defaults", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": list(items)}}


def grown(before=2, after=5, amount="1", *, running=None):
    live = workload(
        container(amount, "1Gi"), replicas=before, status={"replicas": before if running is None else running}
    )
    return change(live, workload(container(amount, "1Gi"), replicas=after))


def lines(changes, *quotas, ranges=(), unread=None):
    found = check_quotas(changes, LiveQuotas(quotas, ranges, unread or {}))
    return [(one.resource, one.used, one.after, one.hard, one.fit.value) for one in found]


def risks(changes, *quotas, ranges=()):
    related, _graph = relate(changes, RelatedObjects(quotas=LiveQuotas(quotas, ranges)))
    return [render_risk(r) for one in related for r in one.risks if r.kind is QUOTA_EXCEEDED]


def test_pods_that_exceed_a_quota_are_a_high_risk_and_those_that_fit_are_none():
    used = {"cpu": "3", "requests.memory": "3Gi", "pods": "3"}
    tight = quota({"cpu": "5", "requests.memory": "8Gi", "pods": "6", "services": "4"}, used)

    assert lines([grown()], tight) == [
        ("cpu", "3", "6", "5", "exceeds"),
        ("pods", "3", "6", "6", "fits"),
        ("requests.memory", "3Gi", "6Gi", "8Gi", "fits"),
    ]
    assert risks([grown()], tight) == [
        "After apply, shop needs 6 of cpu, and ResourceQuota/compute allows 5: pods beyond it are not created."
    ]
    assert risks([grown(after=4)], tight) == []


def test_replicas_that_did_not_fit_before_still_do_not():
    """A workload that wants five pods and has three asks for two more."""
    waiting = grown(before=5, after=5, running=3)

    assert lines([waiting], quota({"pods": "3"}, {"pods": "3"})) == [("pods", "3", "5", "3", "exceeds")]


def test_what_shrinks_is_no_cause_and_never_less_than_nothing():
    full = quota({"pods": "2"}, {"pods": "4"})

    assert lines([grown(before=4, after=3)], full) == [("pods", "4", "3", "2", "exceeds")]
    assert risks([grown(before=4, after=3)], full) == []
    assert lines([grown(before=4, after=1)], quota({"pods": "2"}, {"pods": "1"})) == [("pods", "1", "0", "2", "fits")]


def test_container_without_an_amount_is_refused_unless_a_limit_range_sets_it():
    bare = change(None, workload({"name": "c"}, replicas=2), operation=Operation.CREATE)
    limits = quota({"limits.memory": "4Gi", "requests.cpu": "4"}, {"limits.memory": "1Gi", "requests.cpu": "1"})
    item = {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}}
    defaults = limit_range({"type": "Pod"}, "odd", item)

    assert [one[-1] for one in lines([bare], limits)] == ["unset", "unset"]
    assert "ResourceQuota/compute limits limits.memory, and a container sets none: its pods are not created." in risks(
        [bare], limits
    )
    assert lines([bare], limits, ranges=(defaults,)) == [
        ("limits.memory", "1Gi", "3Gi", "4Gi", "fits"),
        ("requests.cpu", "1", "2", "4", "fits"),
    ]
    assert lines([bare], limits, ranges=({**defaults, "spec": {}},))[0][-1] == "unset"
    stopped = change(None, workload({"name": "c"}, replicas=0), operation=Operation.CREATE)
    assert [one[-1] for one in lines([stopped], limits)] == ["fits", "fits"]


def test_container_that_sets_only_a_limit_requests_as_much():
    limited = {"name": "c", "resources": {"limits": {"cpu": "2"}}}
    made = change(None, workload(limited), operation=Operation.CREATE)

    assert lines([made], quota({"requests.cpu": "1"}, {"requests.cpu": "0"})) == [
        ("requests.cpu", "0", "2", "1", "exceeds")
    ]


def test_what_cannot_be_calculated_says_so():
    scoped = quota({"pods": "1"}, {"pods": "0"}, scopes=["BestEffort"])
    fresh, odd = quota({"pods": "1"}), {**quota({}), "spec": {"hard": "odd"}}

    assert lines([grown()], scoped) == [("pods", "0", "", "1", "scoped")]
    assert lines([grown()], fresh) == [("pods", "", "", "1", "unknown")]
    assert lines([grown()], {**fresh, "status": {"used": "odd"}})[0][-1] == "unknown"
    assert lines([grown()], odd, unread={"shop": 403, "other": 403}) == [("", "", "", "", "unread")]
    assert lines([grown()], quota({"pods": "1"}, {"pods": "1"}, namespace="other")) == []


def test_quota_of_the_set_counts_as_it_will_be():
    ref = ObjectRef(GroupVersionKind("", "v1", "ResourceQuota"), "shop", "compute")
    live, after = quota({"pods": "3"}, {"pods": "2"}), quota({"pods": "9"}, {"pods": "2"})
    raised = replace(grown(), ref=ref, versions=Versions(None, None, live, after, after))

    assert lines([grown(), raised], live) == [("pods", "2", "5", "9", "fits")]
    assert lines([grown(), replace(raised, operation=Operation.ERROR)], live)[0][-1] == "exceeds"
    assert lines([grown(), replace(raised, operation=Operation.PRUNE)], live) == []
    assert lines([grown(), replace(raised, versions=Versions(None, None, None, None, None))], live)[0][-1] == "exceeds"
    assert lines([grown(), raised]) == [("pods", "", "", "9", "unknown")]


def test_pods_that_ended_and_daemon_sets_count_what_runs():
    pod = {"spec": {"containers": [container("1")]}, "status": {"phase": "Succeeded"}}
    ended = change(pod, None, kind="Pod", operation=Operation.PRUNE)
    running = change({**pod, "status": {}}, None, kind="Pod", operation=Operation.PRUNE)
    live = workload(container("1"), kind="DaemonSet", status={"currentNumberScheduled": 2, "desiredNumberScheduled": 3})
    daemon = change(live, live, kind="DaemonSet", operation=Operation.UNCHANGED)
    odd = change({"spec": "odd"}, {"spec": "odd"})
    strange = change(workload(container("1"), status={"replicas": "odd"}), None, operation=Operation.PRUNE)
    limits = quota({"pods": "9"}, {"pods": "4"})

    assert [lines([one], limits)[0][2] for one in (ended, running, daemon, odd, strange)] == ["4", "3", "5", "4", "4"]
    assert lines([change(pod, pod, kind="ConfigMap")], limits) == []
    blocked = change(None, workload(container("1"), replicas=9), operation=Operation.BLOCKED)
    assert lines([blocked], limits)[0][2:] == ("4", "9", "fits")


@pytest.mark.parametrize(
    ("resource", "text", "shown"),
    [("cpu", "1500m", "1500m"), ("cpu", "2000m", "2"), ("cpu", "1u", "1m"), ("memory", "1536Mi", "1.5Gi"),
     ("memory", "1e60", f"8673617379884035472059622407{'0' * 14}Ei"),
     ("memory", "100", "100"), ("memory", "500m", "500m"), ("pods", "10", "10")],
)  # fmt: skip
def test_amounts_are_written_as_in_manifests(resource, text, shown):
    assert write_amount(resource, count_amount(text)) == shown


def test_namespaces_with_workloads_are_read_and_refusals_are_kept():
    refs = [
        ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web"),
        ObjectRef(GroupVersionKind("", "v1", "Pod"), "", "one"),
        ObjectRef(GroupVersionKind("", "v1", "Service"), "other", "web"),
    ]
    reads = list_quota_reads(refs, bundled())
    paths = [read.request.path for read in reads]
    assert paths == [
        f"/api/v1/namespaces/{space}/{plural}"
        for plural in ("resourcequotas", "limitranges")
        for space in ("shop", "default")
    ]
    assert list_quota_reads(refs, ResourceTable(())) == ()

    item = {"metadata": {"name": "q", "namespace": "shop"}}
    answers = [Answer(200, {"items": [item, "odd"]}), Answer(403, {}), Answer(200, {"items": "odd"}), Answer(403, {})]
    found = read_quotas(reads, answers)
    assert (found.quotas, found.ranges) == (({**item, "kind": "ResourceQuota"},), ())
    assert found.unread == {"default": 403}
