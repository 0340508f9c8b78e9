"""A kind that several API groups serve is one to every rule; a definition takes the objects of its group along."""

from __future__ import annotations

from applyviz.engine.objects.kinds import find_defined_group, find_stored, list_kind_names, list_same


def test_kind_is_the_same_in_each_of_its_groups() -> None:
    event = {("", "Event"), ("events.k8s.io", "Event")}

    assert set(list_same("", "Event")) == set(list_same("events.k8s.io", "Event")) == event
    assert list_kind_names("events.k8s.io", "Event") == {"core/Event", "events.k8s.io/Event"}
    assert find_stored("extensions", "Deployment") == ("apps", "Deployment")


def test_kind_of_another_group_is_another_kind() -> None:
    assert list_same("example.com", "Event") == (("example.com", "Event"),)


def test_only_a_definition_names_the_group_of_what_goes_with_it() -> None:
    assert find_defined_group("apiextensions.k8s.io", "CustomResourceDefinition", "shops.example.com") == "example.com"
    assert find_defined_group("", "ConfigMap", "shops.example.com") == ""
