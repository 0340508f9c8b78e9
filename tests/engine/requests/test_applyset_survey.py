"""Who belongs to which ApplySet, by labels alone, and what is odd about parents and members."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.applyset import ID, KINDS, NAMESPACES, RESOURCES, TOOLING, Parent
from applyviz.engine.requests.applyset_survey import ParentFault, survey
from applyviz.engine.schema.model import Resource

SECRET = GroupVersionKind("", "v1", "Secret")
RECORDED = {TOOLING: "kubectl/v1.36.3", KINDS: "ConfigMap,Deployment.apps", NAMESPACES: "shop"}


def identify(name: str, namespace: str = "default") -> str:
    return Parent(Resource(SECRET, "secrets", is_namespaced=True), namespace, name).id


def parent(name: str, *, found_id: str | None = None, annotations: object = RECORDED):
    ref = ObjectRef(SECRET, "default", name)
    labels = {ID: identify(name) if found_id is None else found_id}
    return ref, {"metadata": {"name": name, "labels": labels, "annotations": annotations}}


def member(name: str, of: str, *, kind: str = "ConfigMap", group: str = "", namespace: str = "default"):
    ref = ObjectRef(GroupVersionKind(group, "v1", kind), namespace, name)
    return ref, {"metadata": {"name": name, "labels": {PART_OF: of}}}


def test_members_follow_their_label_in_order():
    one, two = identify("one"), identify("two")

    found = survey(
        [parent("two"), parent("one")],
        [member("b", one), member("c", two), member("a", one), member("d", one, namespace="shop")],
    )

    assert [(each.parent.name, [m.ref.name for m in each.members]) for each in found.sets] == [
        ("one", ["a", "b", "d"]),
        ("two", ["c"]),
    ]
    first = found.sets[0]
    assert (first.tooling, first.kinds) == ("kubectl/v1.36.3", ("ConfigMap", "Deployment.apps"))
    assert (first.namespaces, first.faults, first.is_legacy) == (("default", "shop"), (), False)
    assert found.parentless == ()


def test_member_that_its_parent_does_not_record_is_missed_by_prune():
    one = identify("one")
    members = [
        member("found", one, kind="Deployment", group="apps", namespace="shop"),
        member("kind", one, kind="Role", group="rbac.authorization.k8s.io"),
        member("namespace", one, namespace="other"),
        member("cluster", one, kind="ConfigMap", namespace=""),
    ]

    (found,) = survey([parent("one")], members).sets

    assert {m.ref.name: m.is_missed for m in found.members} == {
        "found": False, "kind": True, "namespace": True, "cluster": False,
    }  # fmt: skip


def test_parent_without_members_and_members_without_a_parent():
    found = survey([parent("one")], [member("b", "applyset-gone-v1"), member("a", "applyset-gone-v1")])

    assert [(each.parent.name, each.members) for each in found.sets] == [("one", ())]
    assert [(each.id, [m.ref.name for m in each.members]) for each in found.parentless] == [
        ("applyset-gone-v1", ["a", "b"])
    ]


def test_copied_id_names_two_parents_and_each_has_the_members():
    copied = parent("copy", found_id=identify("one"))

    found = survey([parent("one"), copied], [member("a", identify("one"))])

    assert {each.parent.name: each.faults for each in found.sets} == {
        "one": (ParentFault.SHARED_ID,),
        "copy": (ParentFault.OTHER_ID, ParentFault.SHARED_ID),
    }
    assert [len(each.members) for each in found.sets] == [1, 1]


@pytest.mark.parametrize(
    ("annotations", "faults", "is_legacy"),
    [
        ({TOOLING: "kubectl/v1.36.3", KINDS: ""}, (), False),
        ({TOOLING: "kubectl/v1.27.0", RESOURCES: "configmaps"}, (), True),
        ({}, (ParentFault.NO_TOOLING, ParentFault.NO_KINDS), True),
        (None, (ParentFault.NO_TOOLING, ParentFault.NO_KINDS), True),
        ({TOOLING: 5, KINDS: ["ConfigMap"]}, (ParentFault.NO_TOOLING, ParentFault.NO_KINDS), True),
    ],
)
def test_spoiled_parent_is_named(annotations, faults, is_legacy):
    (found,) = survey([parent("one", annotations=annotations)], []).sets

    assert (found.faults, found.is_legacy) == (faults, is_legacy)


def test_members_of_a_parent_that_names_resources_are_not_missed():
    legacy = parent("one", annotations={TOOLING: "kubectl/v1.27.0", RESOURCES: "configmaps"})

    (found,) = survey([legacy], [member("a", identify("one"))]).sets

    assert [m.is_missed for m in found.members] == [False]


def test_object_with_an_odd_label_is_no_member():
    ref, obj = member("a", "")

    assert survey([], [(ref, obj), (ref, {"metadata": {"labels": {PART_OF: 5}}}), (ref, {})]).parentless == ()
