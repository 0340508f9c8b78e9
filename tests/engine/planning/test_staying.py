"""Prune names the objects that it leaves, each with the reason, and none that does not exist."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.objects.context import EarlierRun
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from tests.engine.planning.cluster import Box

CONFIG = GroupVersionKind("", "v1", "ConfigMap")
ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role")
CLIENT = ApplyOptions(mode=ApplyMode.CLIENT)
BY_LABEL = replace(CLIENT, selector="app=shop", prune=Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",)))
BY_SET = ApplyOptions(prune=Prune(PruneMode.APPLYSET, applyset="secrets/one"))


def config(name: str, space: str = "default", app: str = "shop", more: str = "") -> str:
    return (
        f"---\napiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: {name}, namespace: {space}, labels: {{app: {app}}}{more}}}\n"
    )


def earlier(*refs: ObjectRef, options: ApplyOptions = BY_LABEL) -> EarlierRun:
    return EarlierRun("3", options, ("app.yaml",), refs)


def ref(name: str, space: str = "default", gvk: GroupVersionKind = CONFIG) -> ObjectRef:
    return ObjectRef(gvk, space, name)


def tell(plan) -> list[tuple[str, str, str]]:
    return [(one.ref.gvk.kind, one.ref.name, one.why.value) for one in plan.staying]


@pytest.fixture
def box() -> Box:
    box = Box()
    box.apply("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n")
    box.apply(config("kept"), CLIENT)
    return box


def test_object_without_the_annotation_stays(box):
    box.apply(config("by-hand"))  # server-side: without last-applied

    plan = box.plan(config("kept"), BY_LABEL)

    assert [c.operation.value for c in plan.changes] == ["unchanged"]
    assert tell(plan) == [("ConfigMap", "by-hand", "not-applied")]


def test_what_controllers_and_kubernetes_made_is_not_expected_to_go(box):
    owned = ", ownerReferences: [{apiVersion: v1, kind: Secret, name: x, uid: u, controller: true}]"
    box.apply(config("owned", more=owned))
    box.apply(config("kube-root-ca.crt"))
    box.apply(config("elsewhere", space="other"))

    assert tell(box.plan(config("kept"), BY_LABEL)) == []


def test_objects_of_the_last_run_stay_by_their_kind_namespace_or_label(box):
    box.apply(config("moved", space="other") + config("relabelled", app="web"), CLIENT)
    box.apply(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"
        "metadata: {name: reads, namespace: default, labels: {app: shop}}\nrules: []\n",
        CLIENT,
    )
    known = earlier(ref("kept"), ref("moved", "other"), ref("relabelled"), ref("reads", gvk=ROLE), ref("gone"))

    plan = box.plan(config("kept"), BY_LABEL, earlier=known)

    assert tell(plan) == [
        ("ConfigMap", "moved", "namespace"), ("ConfigMap", "relabelled", "selector"), ("Role", "reads", "kind"),
    ]  # fmt: skip


def test_object_that_the_files_have_or_prune_deletes_does_not_stay(box):
    box.apply(config("dropped") + config("unselected", app="web"), CLIENT)
    known = earlier(ref("kept"), ref("dropped"), ref("unselected"))

    plan = box.plan(config("kept") + config("unselected", app="web"), BY_LABEL, earlier=known)

    assert [(c.ref.name, c.operation.value) for c in plan.changes] == [("kept", "unchanged"), ("dropped", "prune")]
    assert tell(plan) == []


def test_former_member_with_another_set_stays(box):
    box.apply(config("a") + config("b"), BY_SET)
    box.apply(config("b"), replace(BY_SET, prune=Prune(PruneMode.APPLYSET, applyset="secrets/two")))
    known = earlier(ref("one", gvk=GroupVersionKind("", "v1", "Secret")), ref("a"), ref("b"), options=BY_SET)

    assert tell(box.plan(config("a"), BY_SET, earlier=known)) == [("ConfigMap", "b", "no-member")]


def test_runner_reads_nothing_of_it(box):
    box.apply(config("by-hand"))
    box.asked.clear()

    plan = box.plan(config("kept"), BY_LABEL, earlier=earlier(ref("moved", "other")), has_notes=False)

    assert tell(plan) == []
    assert not any("namespaces/other" in request.path for request in box.asked)


def test_object_of_an_excepted_kind_stays_and_its_share_counts(box):
    box.apply(config("dropped"), CLIENT)
    options = replace(BY_LABEL, prune=replace(BY_LABEL.prune, excepted=("core/ConfigMap",)))

    plan = box.plan(config("kept"), options)

    assert [c.operation.value for c in plan.changes] == ["unchanged"]
    assert tell(plan) == [("ConfigMap", "dropped", "excepted")]


def test_excepted_kind_of_another_group_excepts_nothing(box):
    box.apply(config("dropped"), CLIENT)
    options = replace(BY_LABEL, prune=replace(BY_LABEL.prune, excepted=("example.com/ConfigMap", "core/Secret")))

    assert [c.operation.value for c in box.plan(config("kept"), options).changes] == ["unchanged", "prune"]


def test_member_of_an_excepted_kind_stays_recorded_by_its_parent(box):
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: other}\n"
    box.apply(config("a") + secret, BY_SET)
    options = replace(BY_SET, prune=replace(BY_SET.prune, excepted=("core/Secret",)))

    plan = box.plan(config("a"), options)
    box.run(plan)
    later = box.plan(config("a"), BY_SET)

    assert tell(plan) == [("Secret", "s", "excepted")]
    assert [(c.ref.name, c.operation.value) for c in plan.changes] == [("one", "unchanged"), ("a", "unchanged")]
    annotations = box.get("/api/v1/namespaces/default/secrets/one")["metadata"]["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap,Secret"
    assert annotations["applyset.kubernetes.io/additional-namespaces"] == "other"
    assert ("s", "prune") in [(c.ref.name, c.operation.value) for c in later.changes]


def test_parent_of_another_set_is_no_object_that_a_prune_leaves(box):
    secret = GroupVersionKind("", "v1", "Secret")
    box.apply(
        "---\napiVersion: v1\nkind: Secret\n"
        "metadata: {name: two, namespace: default, labels: {applyset.kubernetes.io/id: applyset-x-v1}}\n"
    )
    box.apply(config("left", app="web"), CLIENT)
    known = earlier(ref("kept"), ref("left"), ref("two", gvk=secret))

    assert tell(box.plan(config("kept"), BY_LABEL, earlier=known)) == [("ConfigMap", "left", "selector")]


def test_object_of_the_last_run_whose_kind_is_no_longer_served_is_gone(box):
    thing = ref("t", gvk=GroupVersionKind("example.org", "v1", "Thing"))

    plan = box.plan(config("kept"), BY_LABEL, earlier=earlier(ref("kept"), thing))

    assert tell(plan) == []
    assert not any("things" in request.path for request in box.asked)
