"""Is a field found where a manifest has it, whatever names its list entries, and is it edited there alone?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.paths import FieldPath, field, fields, index, key, value
from applyviz.engine.objects.values import clone
from applyviz.engine.planning.conflicts.manifest_paths import ManifestEditor, PathWalker, list_steps

POD = {
    "metadata": {"name": "web", "finalizers": ["a.io/x", "b.io/y"]},
    "spec": {
        "containers": [{"name": "first", "image": "one"}, {"name": "web", "image": "two"}],
        "ports": [{"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
        "switches": [{"on": 1, "is": "number"}, {"on": True, "is": "truth"}],
        "mixed": ["plain", {"name": "web"}],
    },
}


def steps(path: FieldPath) -> list[str | int]:
    return [step for _container, step in list_steps(POD, path)]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (fields("metadata", "name"), ["metadata", "name"]),
        ((*fields("spec", "containers"), key({"name": "web"}), field("image")), ["spec", "containers", 1, "image"]),
        ((*fields("spec", "ports"), key({"port": 53, "protocol": "TCP"})), ["spec", "ports", 2]),
        ((*fields("spec", "switches"), key({"on": True}), field("is")), ["spec", "switches", 1, "is"]),
        ((*fields("spec", "mixed"), key({"name": "web"}), field("name")), ["spec", "mixed", 1, "name"]),
        ((*fields("metadata", "finalizers"), value("b.io/y")), ["metadata", "finalizers", 1]),
        ((*fields("metadata", "finalizers"), index(1)), ["metadata", "finalizers", 1]),
    ],
)
def test_place_is_found_by_name_keys_value_or_index(path, found):
    assert steps(path) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (fields("metadata", "labels", "app"), ["metadata"]),
        (fields("metadata", "name", "deeper"), ["metadata", "name"]),
        ((field("metadata"), index(0)), ["metadata"]),
        ((*fields("spec", "containers"), key({"name": "none"})), ["spec", "containers"]),
        ((*fields("spec", "switches"), key({"on": False})), ["spec", "switches"]),
        ((*fields("metadata", "finalizers"), value("c.io/z")), ["metadata", "finalizers"]),
        ((*fields("metadata", "finalizers"), index(2)), ["metadata", "finalizers"]),
    ],
)
def test_way_ends_where_an_element_names_nothing(path, found):
    assert steps(path) == found


def test_entry_that_leaves_a_key_out_still_counts_as_named():
    assert steps((*fields("spec", "ports"), key({"port": 80, "protocol": "TCP"}))) == ["spec", "ports", 0]


def test_first_of_two_entries_of_one_name_is_found_each_time():
    finder = PathWalker({"env": [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}]})

    found = [finder.list_steps((field("env"), key({"name": name}))) for name in "ABA"]

    assert [places[-1][1] for places in found] == [0, 1, 0]


def remove(manifest, *paths: FieldPath):
    editor = ManifestEditor(manifest)
    found = [editor.remove_field(path) for path in paths]
    return editor.finish(), found


def test_removed_field_takes_along_the_maps_that_only_held_it():
    manifest = {"kind": "ConfigMap", "metadata": {"annotations": {"note": "x"}, "name": "a"}}
    before = clone(manifest)

    edited, _ = remove(manifest, fields("metadata", "annotations", "note"))

    assert edited == {"kind": "ConfigMap", "metadata": {"name": "a"}}
    assert manifest == before


def test_removing_all_that_there_is_leaves_nothing():
    manifest = {"spec": {"ports": [{"port": 80}]}}

    assert remove(manifest, (*fields("spec", "ports"), index(0), field("port"))) == ({}, [True])


def test_removing_what_is_not_there_changes_nothing():
    assert remove(POD, fields("metadata", "labels", "app")) == (POD, [False])


def test_each_path_means_the_original_whatever_else_is_removed():
    edited, found = remove(
        POD,
        (*fields("metadata", "finalizers"), index(0)),
        (*fields("metadata", "finalizers"), index(1)),
        (*fields("spec", "containers"), key({"name": "first"})),
        (*fields("spec", "containers"), key({"name": "web"}), field("image")),
    )

    assert found == [True] * 4
    assert edited["metadata"] == {"name": "web"}
    assert edited["spec"]["containers"] == [{"name": "web"}]


def test_empty_values_of_the_manifest_stay():
    manifest = {"spec": {"selector": {}, "args": [], "replicas": 1}}

    assert remove(manifest, fields("spec", "replicas"))[0] == {"spec": {"selector": {}, "args": []}}


def test_set_field_leaves_the_manifest_and_the_value_their_own():
    labels = {"app": "shop"}
    editor = ManifestEditor(POD)

    is_set = editor.set_field(fields("metadata", "finalizers"), labels)
    labels["app"] = "other"

    assert is_set
    assert editor.finish() == {**POD, "metadata": {"name": "web", "finalizers": {"app": "shop"}}}
    assert POD["metadata"]["finalizers"] == ["a.io/x", "b.io/y"]


def test_set_field_is_not_set_where_the_manifest_sets_none():
    editor = ManifestEditor(POD)

    assert not editor.set_field(fields("metadata", "labels", "app"), "x")
    assert editor.finish() == POD
