"""The shared nouns: references, values, requests, answers, errors."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from applyviz.engine.objects import values
from applyviz.engine.objects.errors import (
    ClusterError,
    ConflictError,
    ManifestError,
    OwnershipError,
    PatchError,
    SourceError,
    SourcePosition,
)
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import canonical_json, clone, get_at, is_same_json


def test_reference_is_read_from_an_object():
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    ref = ObjectRef.from_object(obj)

    assert ref == ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web")
    assert (ref.key, str(ref)) == (("apps", "Deployment", "shop", "web"), "Deployment shop/web")
    assert ref.gvk.api_version == "apps/v1"


@pytest.mark.parametrize("obj", [{}, {"apiVersion": 1, "kind": [], "metadata": "x"}, {"metadata": {"name": 5}}])
def test_reference_of_a_broken_object_is_empty(obj):
    assert ObjectRef.from_object(obj) == ObjectRef(GroupVersionKind("", "", ""), "", "")


def test_cluster_scoped_reference_has_no_namespace():
    assert str(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "shop")) == "Namespace shop"
    assert GroupVersionKind("", "v1", "Namespace").api_version == "v1"


def test_clone_shares_no_container():
    value = {"a": [{"b": 1}], "c": "x"}
    copy = clone(value)
    copy["a"][0]["b"] = 2

    assert value == {"a": [{"b": 1}], "c": "x"}
    assert clone([[1], "x"]) == [[1], "x"]
    assert clone(5) == 5


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([], {}, False),
        ({}, [], False),
        ({"a": 1}, {}, False),
        ("1", 1, False),
        (None, None, True),
        (None, {}, False),
    ],
)
def test_values_compare_as_json(left, right, is_same):
    assert is_same_json(left, right) is is_same


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        ({"a": [{"b": 1, "c": "x"}]}, {"a": [{"c": "x", "b": 1}]}, True),
        ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": [1, None]}, {"a": [True, None]}, False),
        ({"a": ["\ud800"]}, {"a": ["\ud800"]}, True),
        ({"a": MappingProxyType({"b": [0]})}, {"a": MappingProxyType({"b": [False]})}, False),
        ({"a": MappingProxyType({"b": 1})}, {"a": MappingProxyType({"b": 1})}, True),
    ],
)
def test_equal_python_values_compare_as_json(left, right, is_same):
    assert left == right
    assert is_same_json(left, right) is is_same


def test_equal_values_are_compared_without_a_walk(monkeypatch):
    """A custom resource definition has ten thousand values, and a page compares its versions several times."""
    walked = []
    monkeypatch.setattr(values, "_is_same_below", lambda *pair: walked.append(pair) or True)
    value = {"a": [{"b": n, "c": [n / 2, True, None]} for n in range(100)]}

    assert is_same_json(value, clone(value))
    assert walked == []


def test_canonical_json_is_sorted():
    assert canonical_json({"b": 1, "a": "é"}) == '{"a":"é","b":1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_value_is_found_by_keys():
    assert (get_at({"a": {"b": 1}}, ("a", "b")), get_at({"a": 1}, ("a", "b"), "no")) == (1, "no")


def test_request_becomes_a_dry_run():
    request = Request("PATCH", "/api/v1/x", query={"force": "true"})

    assert (request.is_write, request.is_dry_run) == (True, False)
    assert request.as_dry_run().query == {"force": "true", "dryRun": "All"}
    assert request.as_dry_run().is_dry_run
    assert not Request("GET", "/").is_write


def test_answer_tells_what_the_server_said():
    refused = Answer(409, {"message": "no", "reason": "Conflict"})

    assert (refused.is_ok, refused.message, refused.reason) == (False, "no", "Conflict")
    assert (Answer(201).is_ok, Answer(200, "x").message, Answer(200, {"reason": 5}).reason) == (True, "", "")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ManifestError("no kind", SourcePosition("a.yaml", 3, 1)), "a.yaml:3:1: no kind"),
        (ManifestError("no kind"), "<input>: no kind"),
        (OwnershipError("bad"), "bad"),
        (PatchError("bad"), "bad"),
        (ClusterError("gone"), "gone"),
        (ConflictError((), "in the way"), "in the way"),
    ],
)
def test_error_is_one_line(error, text):
    assert str(error) == text


def test_source_error_is_one_of_a_field_once_a_caller_knows_it():
    error = SourceError("the file is empty")

    assert error.field == ""
    assert (error.at("files"), error.field) == (error, "files")


def test_deletion_with_options_is_a_dry_run_by_its_body_only():
    deletion = Request("DELETE", "/p", body={"propagationPolicy": "Background"})

    assert deletion.as_dry_run().body == {"propagationPolicy": "Background", "dryRun": ["All"]}
    assert deletion.as_dry_run().is_dry_run
    assert not Request("DELETE", "/p", {"dryRun": "All"}, body={"propagationPolicy": "Background"}).is_dry_run
    assert Request("DELETE", "/p").as_dry_run().is_dry_run
