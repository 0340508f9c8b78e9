"""Requests as pages show them: named holes, explained directives, and what curl and kubectl would be told."""

from dataclasses import replace

import pytest

from applyviz.engine.objects import paths
from applyviz.engine.objects.exchange import APPLY_PATCH, STRATEGIC_MERGE_PATCH, Hole, Request
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.presenters.requests import present_kubectl, present_request
from tests.web import builders

PLACE = "/api/v1/namespaces/shop/configmaps/a"
MASKED = "\u27eamasked 0123456789ab\u27eb"


def make_patch(body: object, **given: object) -> Request:
    return Request("PATCH", PLACE, {}, STRATEGIC_MERGE_PATCH, body, **given)


def test_hole_shows_its_name_and_not_the_value_of_today():
    request = make_patch({"metadata": {"uid": "77"}}, holes=(Hole(paths.fields("metadata", "uid"), "uid"),))

    row = present_request(request)

    assert [line.text for line in row.body] == ["metadata:", "  uid: ⟨uid⟩"]
    assert "⟨uid⟩" in row.curl
    assert "77" not in row.curl


@pytest.mark.parametrize(
    ("body", "about"),
    [
        ({"$patch": "delete"}, "this map or list entry is removed"),
        ({"$patch": "replace"}, "this map or list is replaced whole, not merged"),
        ({"$retainKeys": ["a"]}, "drops every key of this map that it does not name"),
        ({"$setElementOrder/env": [{"name": "a"}]}, "gives the order of a merged list"),
        ({"x": None}, "null in a patch: the field is removed"),
        ({"x": "null"}, ""),
        ({"x": 1}, ""),
    ],
)
def test_directive_is_explained_on_its_line(body, about):
    assert str(present_request(make_patch(body)).body[0].about) == about


def test_null_of_an_apply_is_no_directive():
    request = Request("PATCH", PLACE, {}, APPLY_PATCH, {"x": None})

    assert present_request(request).body[0].about == ""


def test_curl_quotes_what_a_shell_would_read():
    row = present_request(make_patch({"data": {"x": "it's $HOME"}}))

    assert row.curl.split(" \\\n  ")[3] == """--data-raw '{"data": {"x": "it'"'"'s $HOME"}}'"""


def test_masked_values_are_not_offered_to_run():
    change = builders.build_change()
    masked = replace(change, versions=replace(change.versions, manifest={"data": {"x": MASKED}}))

    assert present_request(make_patch({"data": {"x": MASKED}})).curl == ""
    assert present_kubectl(masked, ApplyOptions(field_manager="ci")).text == ""


def test_kubectl_is_told_the_same_and_differences_are_named():
    change = builders.build_change()
    hole = Hole(paths.fields("metadata", "uid"), "uid")
    forced = replace(change.requests[0], query={"force": "true"}, holes=(hole,))

    row = present_kubectl(replace(change, requests=(forced,)), ApplyOptions(field_manager="ci"), is_edited=True)

    assert row.text.split("\n")[0] == (
        "kubectl apply --server-side --field-manager=ci --force-conflicts --namespace=shop --filename=- <<'MANIFEST'"
    )
    assert [str(text) for text in row.differences] == [
        "PATCH is bound to the object that was read (uid); kubectl does not bind it.",
        "Decisions edited this body. kubectl sends the file as it stands: make the edit in the file first.",
    ]


def test_client_side_apply_has_no_server_side_flags():
    row = present_kubectl(builders.build_change(), ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl"))

    assert row.text.startswith("kubectl apply --field-manager=kubectl --namespace=shop --filename=- <<")


def test_object_that_sends_nothing_needs_no_kubectl():
    assert present_kubectl(replace(builders.build_change(), requests=()), ApplyOptions()) is None
