"""Does ownership move before a server-side apply, from whom it should and bound to what was read?"""

from __future__ import annotations

import pytest

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.requests.server_side import apply_server_side
from applyviz.engine.schema.builtin import bundled
from tests.engine.requests.test_flows import MANIFEST, RESOURCE, live, managed


def play_takeover(found, options, kind=None):
    """The requests of a server-side apply of the product over an object, each answered well."""
    flow = apply_server_side(MANIFEST, resource=RESOURCE, options=options, kind=kind)
    next(flow)
    first = flow.send(Answer(200, found))
    if first.purpose != "migrate":
        return None, first
    entries = first.body[0]["value"]
    return first, flow.send(Answer(200, {**found, "metadata": {**found["metadata"], "managedFields": entries}}))


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (ApplyOptions(), ("kubectl-client-side-apply",)),
        (ApplyOptions(takes_from=("helm",)), ("helm", "kubectl-client-side-apply")),
        (ApplyOptions(takes_client_side=False, takes_from=("helm",)), ("helm",)),
        (ApplyOptions(takes_client_side=False, field_manager="kubectl"), ("kubectl-client-side-apply",)),
    ],
)
def test_ownership_moves_before_the_apply_and_is_bound_to_what_was_read(options, names):
    entries = managed(("kubectl-client-side-apply", "Update"), ("helm", "Update"), ("hpa", "Update"))

    moved, applied = play_takeover(live("1", "7", managedFields=entries), options)

    assert moved.placeholders[0].managers == names
    assert moved.body[1] == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}
    assert "hpa" in {entry["manager"] for entry in moved.body[0]["value"]}
    assert not set(names) & {entry["manager"] for entry in moved.body[0]["value"] if entry["operation"] == "Update"}
    assert applied.purpose == "apply"


@pytest.mark.parametrize(
    "options", [ApplyOptions(takes_client_side=False), ApplyOptions(subresource="status"), ApplyOptions()]
)
def test_ownership_stays_where_nobody_asks_or_nothing_is_client_side(options):
    names = [("hpa", "Update")] if options == ApplyOptions() else [("kubectl-client-side-apply", "Update")]

    moved, applied = play_takeover(live("1", "7", managedFields=managed(*names)), options)

    assert (moved, applied.purpose) == (None, "apply")


def test_entries_that_nobody_can_read_stay():
    entries = [{**entry, "fieldsV1": None} for entry in managed(("kubectl-client-side-apply", "Update"))]

    moved, _ = play_takeover(live("1", "7", managedFields=entries), ApplyOptions())

    assert moved is None


def test_object_without_entries_is_booked_as_the_server_would():
    kind = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
    found = live("1", "7")
    found["data"]["other"] = "by hand"

    moved, _ = play_takeover(found, ApplyOptions(), kind)

    assert (moved.body[0]["op"], [placeholder.rule for placeholder in moved.placeholders]) == (
        "add",
        ["resourceVersion"],
    )
    mine, others = moved.body[0]["value"]
    assert (mine["manager"], mine["operation"], others["manager"]) == ("applyviz", "Apply", "before-first-apply")
    assert "f:other" in others["fieldsV1"]["f:data"]
    assert "f:other" not in mine["fieldsV1"]["f:data"]


def test_annotation_that_cannot_be_read_moves_with_what_owns_it():
    entries = managed(("kubectl-client-side-apply", "Update"))
    found = live("1", "7", managedFields=entries)
    found["metadata"]["annotations"] = {LAST_APPLIED: "{"}

    moved, _ = play_takeover(found, ApplyOptions())

    assert [entry["manager"] for entry in moved.body[0]["value"]] == ["applyviz"]


def test_manifest_of_kubectl_does_not_carry_last_applied():
    annotated = last_applied.attach(MANIFEST)
    options = ApplyOptions(field_manager="kubectl")
    kept = {**annotated, "metadata": {**annotated["metadata"], "annotations": {"team": "a"}}}
    both = {**annotated["metadata"]["annotations"], "team": "a"}
    mixed = {**annotated, "metadata": {**annotated["metadata"], "annotations": both}}
    for manifest, expected in ((annotated, None), (mixed, {"team": "a"}), (kept, {"team": "a"}), (MANIFEST, None)):
        flow = apply_server_side(manifest, resource=RESOURCE, options=options)
        next(flow)

        request = flow.send(Answer(404, {"reason": "NotFound"}))

        assert request.body["metadata"].get("annotations") == expected
