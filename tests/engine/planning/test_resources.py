"""Requests and limits of a plan by namespace, before and after."""

from decimal import Decimal

import pytest

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.planning.model.resources import count_amount, sum_resources
from tests.web import builders


def container(cpu=None, memory=None, **more):
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v is not None}
    return {"name": "c", "resources": {"requests": requests}, **more}


def workload(*containers, replicas=None, init=(), kind="Deployment", status=None):
    spec = {"template": {"spec": {"containers": list(containers), "initContainers": list(init)}}}
    if replicas is not None:
        spec["replicas"] = replicas
    return {"kind": kind, "spec": spec, "status": status or {}}


def change(live, after, *, operation=Operation.UPDATE, kind="Deployment", namespace="shop"):
    ref = ObjectRef(GroupVersionKind("apps", "v1", kind), namespace, "web")
    versions = Versions(None, None, live, after, after)
    return replace(builders.build_change(), ref=ref, operation=operation, versions=versions)


def told(*changes):
    return [(s.namespace, s.bound, s.resource, s.before, s.after) for s in sum_resources(changes)]


@pytest.mark.parametrize(
    ("text", "amount"),
    [("100m", "0.1"), ("1", "1"), (2, "2"), ("128Mi", str(128 * 2**20)), ("1G", "1000000000"), ("odd", "0")]
    + [(odd, "0") for odd in ("NaN", "Infinity", "1e9999999", "1e-9999999", f"1e{'9' * 40}")],
)
def test_quantities_are_read(text, amount):
    assert count_amount(text) == Decimal(amount)


def test_replicas_multiply_and_namespaces_stay_apart():
    first = change(workload(container("100m", "64Mi"), replicas=2), workload(container("200m", "64Mi"), replicas=3))
    second = change(None, workload(container("1")), operation=Operation.CREATE, namespace="other")

    assert told(first, second) == [
        ("other", "requests", "cpu", "0", "1"),
        ("shop", "requests", "cpu", "0.2", "0.6"),
        ("shop", "requests", "memory", "134217728", "201326592"),
    ]


def test_largest_init_container_counts_and_one_that_stays_is_added():
    init = (container("2"), container("500m", restartPolicy="Always"))
    small = workload(container("100m"), init=init)
    large = workload(container("3"), init=init)

    assert told(change(small, large)) == [("shop", "requests", "cpu", "2", "3.5")]


def test_what_is_not_written_stays_and_what_is_deleted_goes():
    live, after = workload(container("1")), workload(container("2"))
    for operation, then in ((Operation.BLOCKED, "1"), (Operation.ERROR, "1"), (Operation.PRUNE, "0")):
        assert told(change(live, after, operation=operation)) == [("shop", "requests", "cpu", "1", then)]


def test_daemon_set_counts_the_pods_that_live_wants():
    live = workload(container("1"), kind="DaemonSet", status={"desiredNumberScheduled": 4})
    after = workload(container("2"), kind="DaemonSet")

    assert told(change(live, after, kind="DaemonSet")) == [("shop", "requests", "cpu", "4", "8")]


def test_pods_and_limits_and_odd_objects():
    pod = {"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}, "odd"], "initContainers": "odd"}}
    odd = workload(container("1"), replicas="odd")

    assert told(change(pod, pod, kind="Pod")) == [
        ("shop", "requests", "cpu", "1", "1"),  # what sets only a limit requests as much
        ("shop", "limits", "cpu", "1", "1"),
    ]
    assert told(change(odd, {"spec": "odd"})) == [("shop", "requests", "cpu", "1", "0")]
    assert told(change(pod, pod, kind="ConfigMap")) == []
