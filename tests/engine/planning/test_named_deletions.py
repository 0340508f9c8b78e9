"""Are exactly the objects deleted that were named, and is it said of each other one why it is left alone?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode
from tests.engine.planning.cluster import Box

PLACE = "/api/v1/namespaces/default/configmaps"


def config(name: str, namespace: str = "default") -> str:
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n"


def name_one(box: Box, name: str) -> str:
    """The entry that names a ConfigMap as it is now."""
    return f"core/v1/ConfigMap/default/{name}/{box.get(f'{PLACE}/{name}')['metadata']['uid']}"


def deleting(*entries: str) -> ApplyOptions:
    return ApplyOptions(prune=Prune(PruneMode.NAMED, entries))


def reasons(plan) -> list[str]:
    return [problem.reason for problem in plan.problems]


def filled(*names: str) -> Box:
    box = Box()
    box.apply("".join(map(config, names)))
    return box


def test_named_object_is_deleted_and_its_neighbors_stay():
    box = filled("a", "b", "c")

    plan = box.plan(config("a"), deleting(name_one(box, "b")))
    box.run(plan)

    assert [(c.ref.name, c.operation, c.certainty) for c in plan.changes] == [
        ("a", Operation.UNCHANGED, Certainty.CONFIRMED),
        ("b", Operation.PRUNE, Certainty.CONFIRMED),
    ]
    assert reasons(plan) == []
    assert [item["metadata"]["name"] for item in box.get(PLACE)["items"]] == ["a", "c"]


def test_object_of_a_named_group_without_namespace_is_deleted():
    text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: []\n"
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/reader"
    box = Box()
    box.apply(text)
    uid = box.get(path)["metadata"]["uid"]

    plan = box.plan("", deleting(f"rbac.authorization.k8s.io/v1/ClusterRole//reader/{uid}"))

    (change,) = plan.changes
    (request,) = change.requests
    assert (change.operation, request.method, request.path) == (Operation.PRUNE, "DELETE", path)
    assert request.body["preconditions"]["uid"] == uid


def test_object_that_is_gone_is_left_alone():
    box = filled("a")
    entry = name_one(box, "a").replace("/a/", "/gone/")

    plan = box.plan("", deleting(entry, name_one(box, "a")))

    assert [c.ref.name for c in plan.changes] == ["a"]
    assert reasons(plan) == ["ConfigMap default/gone is not deleted: it no longer exists"]


def test_object_that_was_made_anew_is_left_alone():
    box = filled("a", "b")
    old = name_one(box, "b")
    box.run(box.plan("", deleting(old)))
    box.apply(config("b"))

    plan = box.plan(config("a"), deleting(old))

    assert [c.ref.name for c in plan.changes] == ["a"]
    assert reasons(plan) == ["ConfigMap default/b is not deleted: it was created again since"]


def test_object_that_may_not_be_read_is_left_alone():
    box = filled("a")
    entry = name_one(box, "a")
    box.intercept = lambda request: Answer(403, {"kind": "Status", "message": "no"})

    plan = box.plan("", deleting(entry))

    assert (plan.changes, reasons(plan)) == (
        (),
        ["ConfigMap default/a is not deleted: it could not be read (403)"],
    )


def test_object_of_a_kind_that_is_served_no_more_is_left_alone_unasked():
    box = Box()

    plan = box.plan("", deleting("example.org/v1/Thing/default/t/1-2"))

    assert (plan.changes, box.asked) == ((), [])
    assert reasons(plan) == ["Thing default/t is not deleted: the cluster no longer serves its kind"]


def test_nothing_is_deleted_while_an_object_is_in_error():
    box = filled("b")

    plan = box.plan(config("a", "nowhere"), deleting(name_one(box, "b")))

    assert [(c.ref.name, c.operation) for c in plan.changes] == [("a", Operation.ERROR)]
    assert reasons(plan) == ["nothing is pruned while something of the set is in error: ConfigMap nowhere/a"]


@pytest.mark.parametrize("status", [429, 503])
def test_deletion_that_could_not_be_tried_says_so(status):
    box = filled("a")
    entry = name_one(box, "a")
    box.intercept = lambda request: Answer(status, {"message": "busy"}) if request.method == "DELETE" else None

    (change,) = box.plan("", deleting(entry)).changes

    assert (change.operation, change.certainty, change.certainty_reason) == (
        Operation.PRUNE,
        Certainty.ESTIMATED,
        "the server could not try it: busy",
    )
