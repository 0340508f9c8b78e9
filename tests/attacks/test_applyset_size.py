"""The ApplySets of a cluster are listed in linear size, whatever others wrote into labels and annotations."""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.applyset import ID, KINDS, NAMESPACES
from applyviz.engine.requests.applyset_survey import ParentFault, survey
from applyviz.workflow.live import applysets

pytestmark = pytest.mark.attacks
GVK = GroupVersionKind("", "v1", "ConfigMap")
MANY = 2_000


def labeled(name: str, labels: dict[str, Any], annotations: dict[str, Any] | None = None) -> Any:
    metadata = {"name": name, "namespace": "shop", "labels": labels, "annotations": annotations or {}}
    return ObjectRef(GVK, "shop", name), {"metadata": metadata}


def test_many_parents_of_one_id_do_not_each_list_all_members() -> None:
    parents = [labeled(f"parent-{n}", {ID: "same"}) for n in range(MANY)]
    members = [labeled(f"member-{n}", {PART_OF: "same"}) for n in range(MANY)]

    found = survey(parents, members)
    shared = list(applysets._find_same_id(found.sets))

    assert len(found.sets) == MANY
    assert all(ParentFault.SHARED_ID in one.faults for one in found.sets)
    assert len(found.sets[0].members) == MANY
    assert sum(len(one.members) for one in found.sets) <= 10 * MANY
    assert len(shared) <= 10 * MANY


def test_long_annotations_are_read_up_to_a_limit() -> None:
    text = ",".join(f"Kind{n}" for n in range(20_000))
    parent = labeled("parent", {ID: "x"}, {KINDS: text, NAMESPACES: text})

    (one,) = survey([parent], [labeled("member", {PART_OF: "x"})]).sets

    assert one.is_cut
    assert (len(one.kinds), len(one.namespaces)) == (500, 501)
    assert not one.members[0].is_missed


@pytest.mark.parametrize("value", [None, 1, [], {"a": "b"}, "", "\x00", "x" * 300_000])
def test_labels_and_annotations_of_other_types_are_read(value: Any) -> None:
    parents = [labeled("parent", {ID: value}, {KINDS: value, NAMESPACES: value})]

    assert len(survey(parents, [labeled("member", {PART_OF: value})]).sets) == 1
