"""The ApplySets of a cluster are read by their labels, in the scopes of the reader."""

from __future__ import annotations

import pytest

from applyviz.clusters import facts
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.requests.applyset import ID, NAMESPACES
from applyviz.engine.requests.applyset_survey import ParentFault
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.records.enums import Role
from applyviz.workflow.live.applysets import read_applysets
from tests.builders import grant_role, make_person
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db
CONFIGS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


def by(name: str) -> dict[str, object]:
    return {"prune": Prune(PruneMode.APPLYSET, applyset=f"secrets/{name}")}


def read(team, for_user=None):
    return read_applysets(team.cluster, for_user=for_user or team.alice)


def members(found):
    return {one.parent.name: [m.ref.name for m in one.members] for one in found.sets}


def patch(team, path, metadata):
    assert team.send(Request("PATCH", path, {"fieldManager": "hand"}, MERGE_PATCH, {"metadata": metadata})).is_ok


def test_sets_of_runs_are_listed_with_their_members(team):
    team.apply(config_map("a", x="1"), secret(password="p"), **by("one"))
    team.apply(config_map("b", x="1"), **by("two"))
    team.apply(config_map("beside", x="1"))

    found = read(team)

    assert members(found) == {"one": ["a", "login"], "two": ["b"]}
    assert (found.shared, found.parentless, found.unread, found.problem) == ((), (), (), "")
    assert {one.tooling for one in found.sets} == {"kubectl/v1.36.3"}
    assert not any(member.is_missed for one in found.sets for member in one.members)


@pytest.mark.long
def test_object_that_a_run_of_another_set_took_is_in_two_sets(team):
    first = team.apply(config_map("a", x="1"), config_map("b", x="1"), **by("one"))
    team.apply(config_map("b", x="1"), **by("two"))

    found = read(team)

    (shared,) = found.shared
    assert (shared.ref.name, shared.parent.name, shared.other.name, shared.run) == ("b", "two", "one", first.number)
    assert members(found) == {"one": ["a"], "two": ["b"]}
    team.apply(config_map("a", x="2"), **by("one"))
    assert read(team).shared == ()


@pytest.mark.long
def test_parent_with_the_id_of_another_one_shares_its_members(team):
    team.apply(config_map("a", x="1"), **by("one"))
    own = team.live(f"{SECRETS}/one")["metadata"]["labels"][ID]
    copy = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy", "labels": {ID: own}}}
    assert team.send(Request("POST", SECRETS, {"fieldManager": "hand"}, body=copy)).is_ok

    found = read(team)

    faults = {one.parent.name: one.faults for one in found.sets}
    assert ParentFault.SHARED_ID in faults["one"]
    assert ParentFault.OTHER_ID in faults["copy"]
    (shared,) = found.shared
    assert (shared.ref.name, {shared.parent.name, shared.other.name}, shared.run) == ("a", {"one", "copy"}, 0)


@pytest.mark.long
def test_parent_without_members_and_members_without_a_parent(team):
    team.apply(config_map("a", x="1"), **by("one"))
    team.apply(config_map("b", x="1"), **by("two"))
    patch(team, f"{CONFIGS}/a", {"labels": {PART_OF: None}})
    assert team.send(Request("DELETE", f"{SECRETS}/two")).is_ok

    found = read(team)

    assert members(found) == {"one": []}
    assert [[member.ref.name for member in one.members] for one in found.parentless] == [["b"]]


def test_reader_of_one_namespace_sees_nothing_of_another(team):
    team.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
    inside = config_map("inside", x="1").replace("name: inside", "name: inside\n  namespace: shop")
    team.apply(inside, config_map("a", x="1"), **by("one"))
    patch(team, f"{SECRETS}/one", {"annotations": {NAMESPACES: "shop,hidden"}})
    carol, victor = make_person("carol"), make_person("victor")
    grant_role(carol, Role.VIEWER, namespace="default", is_cluster_scoped=False)
    grant_role(victor, Role.VIEWER, namespace="shop", is_cluster_scoped=False)

    mine, theirs = read(team, carol), read(team, victor)

    assert (members(mine), mine.sets[0].namespaces) == ({"one": ["a"]}, ("default",))
    assert (members(theirs), [m.ref.name for one in theirs.parentless for m in one.members]) == ({}, ["inside"])


def test_kind_that_may_not_be_listed_is_named(team):
    team.apply(config_map("a", x="1"), **by("one"))
    team.wire.unreadable.add("/api/v1/configmaps")

    found = read(team)

    assert (members(found), found.unread) == ({"one": []}, ("ConfigMap",))


def test_cluster_that_does_not_answer_is_a_problem(team, monkeypatch):
    def fail(*_given):
        raise UnreachableError("the cluster does not answer")

    monkeypatch.setattr(facts, "require_answer", fail)

    assert read(team).problem == "the cluster does not answer"
