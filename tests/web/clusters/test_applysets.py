"""The page of the ApplySets of a cluster: members, objects in two sets, parents without members, and nothing at all."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import PART_OF
from tests.stories import config_map
from tests.workflow.test_applysets import CONFIGS, SECRETS, by, patch

pytestmark = pytest.mark.django_db


def show(person):
    browser = Client()
    browser.force_login(person)
    answer = browser.get(reverse("clusters:show-applysets", args=["box"]))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().replace("<wbr>", "").split())


def test_members_are_listed_by_set_and_lead_to_their_pages(team):
    team.apply(config_map("a", x="1"), config_map("b", x="1"), **by("one"))

    page = show(team.alice)

    assert "1 ApplySet with members" in page
    assert "2 members" in page
    assert "Secret/one" in page
    assert reverse("history:show-object", args=["box", "core", "ConfigMap", "default", "a"]) in page
    assert "kubectl/v1.36.3" in page
    assert [
        text for text in ("Objects in two sets", "Parents without", "without a parent", "misses") if text in page
    ] == []


@pytest.mark.long
def test_object_in_two_sets_names_the_run_that_took_it(team):
    run = team.apply(config_map("a", x="1"), config_map("b", x="1"), **by("one"))
    team.apply(config_map("b", x="1"), **by("two"))

    page = show(team.alice)

    assert "Objects in two sets" in page
    assert f"run {run.number} applied it to the other set" in page
    assert reverse("runs:show-run", args=[run.number]) in page


@pytest.mark.long
def test_empty_parent_lost_parent_and_missed_member_are_said(team):
    team.apply(config_map("a", x="1"), **by("one"))
    team.apply(config_map("b", x="1"), **by("two"))
    team.apply(config_map("c", x="1"), **by("three"))
    patch(team, f"{CONFIGS}/a", {"labels": {PART_OF: None}})
    patch(team, f"{SECRETS}/three", {"annotations": {"applyset.kubernetes.io/contains-group-kinds": "Secret"}})
    assert team.send(Request("DELETE", f"{SECRETS}/two")).is_ok

    page = show(team.alice)

    assert "Parents without members" in page
    assert "Members without a parent" in page
    assert "kubectl&#x27;s prune misses it: the parent does not record its kind or its namespace" in page


def test_spoiled_parent_says_what_kubectl_refuses(team):
    team.apply(config_map("a", x="1"), **by("one"))
    patch(team, f"{SECRETS}/one", {"annotations": {"applyset.kubernetes.io/tooling": None}})

    assert "It has no annotation applyset.kubernetes.io/tooling: kubectl refuses it." in show(team.alice)


def test_cluster_without_applysets_says_so(team):
    team.apply(config_map("a", x="1"))

    assert "No object that you may see has a label of ApplySets." in show(team.alice)


def test_kind_that_may_not_be_listed_is_named(team):
    team.wire.unreadable.add("/api/v1/configmaps")

    assert "Some kinds could not be listed" in show(team.alice)
