"""Requests as pages show them: named holes, explained directives, and what curl and kubectl would be told."""

import pytest
import yaml

from applyviz.engine.objects import paths
from applyviz.engine.objects.exchange import APPLY_PATCH, STRATEGIC_MERGE_PATCH, Placeholder, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.reviews.pane.kubectl import present_requests, write_command
from applyviz.web.reviews.pane.requests import present_request
from tests.engine.planning.cluster import Box
from tests.web import builders

PLACE = "/api/v1/namespaces/shop/configmaps/a"
MASKED = "\u27eamasked 0123456789ab\u27eb"


def make_patch(body: object, **given: object) -> Request:
    return Request("PATCH", PLACE, {}, STRATEGIC_MERGE_PATCH, body, **given)


def test_hole_shows_its_name_and_not_the_value_of_today():
    request = make_patch(
        {"metadata": {"uid": "77"}}, placeholders=(Placeholder(paths.fields("metadata", "uid"), "uid"),)
    )

    row = present_request(request)

    assert [line.text for line in row.body] == ["metadata:", "  uid: ⟨uid⟩"]
    assert "⟨uid⟩" in row.curl.text
    assert "77" not in row.curl.text


@pytest.mark.parametrize(
    ("body", "about"),
    [
        ({"$patch": "delete"}, "this map or list entry is removed"),
        ({"$patch": "replace"}, "this map or list is replaced entirely"),
        ({"$retainKeys": ["a"]}, "drops all keys of this map that are not listed"),
        ({"$setElementOrder/env": [{"name": "a"}]}, "order of the merged list"),
        ({"x": None}, "null in a patch removes the field"),
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

    assert row.curl.text.split(" \\\n  ")[3] == """--data-raw '{"data": {"x": "it'"'"'s $HOME"}}'"""


def test_masked_values_are_not_offered_to_run():
    change = builders.build_change()
    masked = replace(change, versions=replace(change.versions, manifest={"data": {"x": MASKED}}))

    assert present_request(make_patch({"data": {"x": MASKED}})).curl is None
    assert write_command(masked, ApplyOptions(field_manager="ci")) == ""


def test_long_body_is_cut_and_kept_as_a_file():
    body = {"data": {f"key-{n:04}": "x" for n in range(1000)}}

    row = present_request(make_patch(body), 3, file_url_of=lambda name: f"/files/{name}")

    assert (len(row.body), row.hidden_lines) == (400, 601)
    assert (row.file.url, row.curl.url) == ("/files/request-3.yaml", "/files/request-3.sh")


def test_kubectl_command_names_what_the_plan_does():
    change = builders.build_change()
    forced = replace(change, requests=(replace(change.requests[0], query={"force": "true"}),))

    server = write_command(forced, ApplyOptions(field_manager="ci"))
    client = write_command(change, ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl"))

    assert server.split("\n")[0] == (
        "kubectl apply --server-side --field-manager=ci --force-conflicts --namespace=shop --filename=- <<'MANIFEST'"
    )
    assert client.split("\n")[0] == ("kubectl apply --field-manager=kubectl --namespace=shop --filename=- <<'MANIFEST'")


def plan(live: dict | None, manifest: dict, mode: ApplyMode) -> tuple:
    """Rows of a change that the engine planned, and its kubectl row."""
    box = Box()
    options = ApplyOptions(mode=mode)
    if live is not None:
        box.apply(yaml.safe_dump(live), options)
    change = box.plan_one(yaml.safe_dump(manifest), options)
    return change, options, present_requests(change, options)


def config_map(**data: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data}


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_kubectl_sends_the_same_without_what_binds_the_plan(mode):
    _change, _options, (rows, kubectl) = plan(config_map(x="1"), config_map(x="2"), mode)

    assert [(r.beside.is_equal, r.beside.lines) for r in rows] == [(False, ())]
    assert [str(text) for text in rows[0].beside.says] == [
        "The plan adds preconditions from the live object (uid · resourceVersion)."
    ]
    assert kubectl.differences == ()


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_kubectl_creates_the_same(mode):
    _change, _options, (rows, _kubectl) = plan(None, config_map(x="1"), mode)

    assert [(r.beside.is_equal, r.beside.lines) for r in rows] == [(mode is ApplyMode.CLIENT, ())]


def test_body_that_kubectl_sends_otherwise_is_shown_and_explained():
    change, options, _found = plan(config_map(x="1"), config_map(x="2", y="3"), ApplyMode.SERVER)
    body = {**change.requests[0].body, "data": {"x": "2"}}
    edited = replace(change, requests=(replace(change.requests[0], body=body),))

    rows, _kubectl = present_requests(edited, options, is_edited=True)

    assert [row.state for row in rows[0].beside.lines if row.state not in ("same", "fold")] == ["added"]
    assert "Resolutions edited this body; kubectl sends the file unchanged." in rows[0].beside.says


def test_object_that_sends_nothing_needs_no_kubectl():
    assert present_requests(replace(builders.build_change(), requests=()), ApplyOptions()) == ((), None)
