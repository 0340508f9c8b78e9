"""Do flows answer what recordings seldom hold: conflicting writes, failing deletions, refused migrations?"""

from __future__ import annotations

import pytest

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests import applyset
from applyviz.engine.requests.client_side import apply_client_side
from applyviz.engine.requests.flow import AnswerError, Deletion, Verb
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun
from applyviz.engine.requests.server_side import apply_server_side
from applyviz.engine.schema.builtin import bundled

GVK = GroupVersionKind("", "v1", "ConfigMap")
RESOURCE, KIND = bundled().find_resource(GVK), bundled().find_kind(GVK)
MANIFEST = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "shop"},
    "data": {"x": "2"},
}
KUBECTL = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply", has_preconditions=False)
SERVER = ApplyOptions(field_manager="kubectl", has_preconditions=False)
NOT_FOUND = Answer(404, {"kind": "Status", "reason": "NotFound", "message": "no"})
CONFLICT = Answer(409, {"kind": "Status", "reason": "Conflict", "message": "modified"})
INVALID = Answer(422, {"kind": "Status", "reason": "Invalid", "message": "immutable"})


def live(value: str = "1", version: str = "1", **metadata):
    obj = {**MANIFEST, "data": {"x": value}}
    annotated = last_applied.attach(obj)
    return {**annotated, "metadata": {**annotated["metadata"], "uid": "u", "resourceVersion": version, **metadata}}


def play(flow, *answers):
    """Drive a flow with the given answers; the outcome and what was asked."""
    asked = []
    left = list(answers)
    try:
        request = next(flow)
        while True:
            asked.append(f"{request.method} {request.path.rpartition('/')[2]}")
            request = flow.send(left.pop(0))
    except StopIteration as stop:
        return stop.value, asked
    except AnswerError as error:
        return error, asked


def client(options: ApplyOptions = KUBECTL, deletion: Deletion | None = None):
    return apply_client_side(MANIFEST, resource=RESOURCE, kind=KIND, options=options, deletion=deletion)


def test_conflicting_write_is_computed_again_from_what_is_there_then():
    outcome, asked = play(
        client(), Answer(200, live()), CONFLICT, Answer(200, live("5", "2")), Answer(200, live("2", "3"))
    )

    assert (outcome.verb, outcome.live["metadata"]["resourceVersion"]) == (Verb.CONFIGURED, "1")
    assert asked == ["GET a", "PATCH a", "GET a", "PATCH a"]


def test_conflicting_write_becomes_unchanged_when_somebody_did_the_same():
    outcome, asked = play(client(), Answer(200, live()), CONFLICT, Answer(200, live("2", "2")))

    assert (outcome.verb, asked) == (Verb.UNCHANGED, ["GET a", "PATCH a", "GET a"])


def test_conflicting_write_is_tried_six_times():
    outcome, asked = play(client(), *[Answer(200, live()), CONFLICT] * 6)

    assert (str(outcome), outcome.answer, asked.count("PATCH a")) == ("modified", CONFLICT, 6)


def test_bound_write_is_tried_once():
    outcome, asked = play(client(ApplyOptions(mode=ApplyMode.CLIENT)), Answer(200, live()), CONFLICT)

    assert (outcome.status, asked) == (409, ["GET a", "PATCH a"])


def test_object_that_goes_between_two_tries_is_an_error():
    outcome, _ = play(client(), Answer(200, live()), CONFLICT, NOT_FOUND)

    assert outcome.answer == NOT_FOUND


def test_forced_replacement_waits_for_the_end_and_creates():
    options = ApplyOptions(mode=ApplyMode.CLIENT, has_preconditions=False, is_replacing_on_error=True)

    outcome, asked = play(
        client(options, Deletion(timeout=5)),
        Answer(200, live()),
        INVALID,
        Answer(200, {}),
        Answer(200, live()),
        NOT_FOUND,
        Answer(201, live("2")),
    )

    assert outcome.verb is Verb.CONFIGURED
    assert asked == ["GET a", "PATCH a", "DELETE a", "GET a", "GET a", "POST configmaps"]


def test_forced_replacement_gives_up_at_the_end_of_its_time():
    options = ApplyOptions(mode=ApplyMode.CLIENT, has_preconditions=False, is_replacing_on_error=True)

    outcome, asked = play(client(options), Answer(200, live()), INVALID, Answer(200, {}), Answer(200, live()))

    assert "is still there" in str(outcome)
    assert asked[-1] == "GET a"


def test_forced_replacement_stops_when_it_cannot_look():
    options = ApplyOptions(mode=ApplyMode.CLIENT, has_preconditions=False, is_replacing_on_error=True)
    broken = Answer(500, {"kind": "Status", "reason": "InternalError", "message": "broken"})

    outcome, asked = play(client(options, Deletion(timeout=5)), Answer(200, live()), INVALID, Answer(200, {}), broken)

    assert (outcome.answer, asked[-1]) == (broken, "GET a")


def test_forced_replacement_puts_back_what_was_there_when_the_create_fails():
    options = ApplyOptions(mode=ApplyMode.CLIENT, has_preconditions=False, is_replacing_on_error=True)

    outcome, asked = play(
        client(options),
        Answer(200, live()),
        INVALID,
        Answer(200, {}),
        NOT_FOUND,
        INVALID,
        Answer(201, live()),
    )

    assert outcome.answer == INVALID
    assert asked[-2:] == ["POST configmaps", "POST configmaps"]


def test_read_that_is_forbidden_ends_the_flow():
    outcome, asked = play(client(), Answer(403, {"kind": "Status", "reason": "Forbidden", "message": "no"}))

    assert (outcome.status, asked) == (403, ["GET a"])


def test_missing_annotation_is_warned_of():
    bare = {**live(), "metadata": {"name": "a", "namespace": "shop"}}

    outcome, _ = play(client(), Answer(200, bare), Answer(200, live("2")))

    assert outcome.warnings[0].startswith("resource configmaps/a is missing the kubectl.kubernetes.io/last-applied")


def test_client_side_dry_run_sends_nothing():
    options = ApplyOptions(mode=ApplyMode.CLIENT, has_preconditions=False, dry_run=DryRun.CLIENT)

    outcome, asked = play(client(options), Answer(200, live()))

    assert (outcome.verb, outcome.obj["data"], asked) == (Verb.CONFIGURED, {"x": "2"}, ["GET a"])


def managed(*entries):
    owned = {"f:metadata": {"f:annotations": {"f:" + LAST_APPLIED: {}}}, "f:data": {"f:x": {}}}
    return [
        {"manager": m, "operation": o, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned}
        for m, o in entries
    ]


def migrated(version: str = "2"):
    entries = managed(("kubectl-last-applied", "Apply"), ("kubectl-client-side-apply", "Update"))
    return live("2", version, managedFields=entries)


def test_migration_that_is_refused_is_a_warning():
    flow = apply_server_side(MANIFEST, resource=RESOURCE, options=SERVER)

    outcome, asked = play(flow, Answer(200, migrated()), Answer(403, {"message": "not you"}))

    assert outcome.verb is Verb.APPLIED
    assert outcome.warnings[0].startswith("server rejected managed fields migration")
    assert asked == ["PATCH a", "PATCH a"]


def test_migration_reads_again_when_somebody_wrote_meanwhile():
    flow = apply_server_side(MANIFEST, resource=RESOURCE, options=SERVER)

    outcome, asked = play(
        flow,
        Answer(200, migrated()),
        CONFLICT,
        Answer(200, migrated("3")),
        Answer(200, live("2", "4")),
        Answer(200, live("2", "5")),
    )

    assert (outcome.warnings, outcome.obj["metadata"]["resourceVersion"]) == ((), "5")
    assert asked == ["PATCH a", "PATCH a", "GET a", "PATCH a", "PATCH a"]


def test_migration_whose_last_apply_fails_is_a_warning():
    flow = apply_server_side(MANIFEST, resource=RESOURCE, options=SERVER)

    outcome, _ = play(flow, Answer(200, migrated()), Answer(200, live("2", "3")), Answer(500, {"message": "oops"}))

    assert outcome.warnings[0].startswith("failed to re-apply configuration")


def test_annotation_that_cannot_be_kept_is_a_warning():
    flow = apply_server_side(MANIFEST, resource=RESOURCE, options=SERVER)
    unowned = live("2", "2", managedFields=managed(("kubectl-client-side-apply", "Update")))

    outcome, asked = play(flow, Answer(200, unowned), Answer(500, {"message": "oops"}))

    assert outcome.warnings[0].startswith("failed to migrate kubectl.kubernetes.io/last-applied-configuration")
    assert asked == ["PATCH a", "PATCH a"]


def test_server_side_apply_is_bound_to_what_it_read():
    flow = apply_server_side(MANIFEST, resource=RESOURCE, options=ApplyOptions(takes_client_side=False))
    next(flow)

    request = flow.send(Answer(200, live("1", "7")))

    assert (request.body["metadata"]["uid"], request.body["metadata"]["resourceVersion"]) == ("u", "7")


def test_parent_of_an_applyset_is_forced_when_others_wrote_it():
    parent = applyset.find_parent("shop", namespace="default", catalog=bundled())
    flow = applyset.write_parent(parent, applyset.Content(), KUBECTL)
    first = next(flow)

    second = flow.send(CONFLICT)

    assert (first.query["force"], second.query["force"]) == ("false", "true")
    with pytest.raises(AnswerError, match="no"):
        flow.send(NOT_FOUND)


@pytest.mark.parametrize(
    ("text", "namespace", "reason"),
    [
        ("", "shop", "name cannot be blank"),
        ("configmaps/", "shop", "name cannot be blank"),
        ("configmaps/a/b", "shop", "name may not contain '/'"),
        ("..", "shop", "name may not be '..'"),
        ("nothings/x", "shop", "no matches for nothings"),
        ("x", "", "namespace is required"),
    ],
)
def test_parent_that_cannot_be(text, namespace, reason):
    with pytest.raises(applyset.ApplySetError, match=reason):
        applyset.find_parent(text, namespace=namespace, catalog=bundled())


@pytest.mark.parametrize("text", ["configmaps/set", "ConfigMap/set", "cm/set"])
def test_parent_is_named_by_plural_singular_or_short_name(text):
    parent = applyset.find_parent(text, namespace="shop", catalog=bundled())

    assert (parent.resource.plural, parent.name) == ("configmaps", "set")


def test_identity_of_an_applyset_is_the_specified_one():
    parent = applyset.find_parent("myset", namespace="prune-applyset", catalog=bundled())

    assert parent.id == "applyset-kZJTMeDoiDaYricFzKwlGlBRo8xn1bqXfRwA8BCy1aQ-v1"


SET = {"applyset.kubernetes.io/tooling": "kubectl/v1.36"}
KINDS = "applyset.kubernetes.io/contains-group-kinds"


@pytest.mark.parametrize(
    ("annotations", "is_labelled", "reason"),
    [
        (SET, True, 'requires the "applyset.kubernetes.io/contains-group-kinds" annotation'),
        ({**SET, KINDS: "ConfigMap"}, False, "has no label applyset.kubernetes.io/id with the value applyset-"),
    ],
)
def test_parent_that_does_not_say_what_it_holds_is_refused(annotations, is_labelled, reason):
    parent = applyset.find_parent("shop", namespace="default", catalog=bundled())
    labels = {"applyset.kubernetes.io/id": parent.id} if is_labelled else {}

    with pytest.raises(applyset.ApplySetError, match=reason):
        applyset.read_content({"metadata": {"annotations": annotations, "labels": labels}}, parent, bundled())


def test_parent_that_cannot_be_read_stops_the_set():
    parent = applyset.find_parent("shop", namespace="default", catalog=bundled())

    outcome, asked = play(applyset.fetch_content(parent, bundled()), INVALID)

    assert (outcome.answer, asked) == (INVALID, ["GET shop"])


def test_client_side_entry_of_a_subresource_is_not_migrated():
    named = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}
    entry = {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": named}
    entries = [
        {**entry, "manager": "kubectl-last-applied", "operation": "Apply"},
        {**entry, "manager": "kubectl-client-side-apply", "operation": "Update", "subresource": "status"},
    ]
    applied = live(managedFields=entries)

    outcome, asked = play(
        apply_server_side(MANIFEST, resource=RESOURCE, options=SERVER),
        Answer(200, applied),
    )

    assert (outcome.verb, outcome.warnings) == (Verb.APPLIED, ())
    assert [line for line in asked if line.startswith("PATCH")] == ["PATCH a"]


def test_annotation_of_an_object_without_namespace_is_written_without_one():
    gvk = GroupVersionKind("", "v1", "Namespace")
    obj = last_applied.attach({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    flow = apply_server_side(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        resource=bundled().find_resource(gvk),
        options=SERVER,
    )
    next(flow)

    request = flow.send(Answer(200, obj))

    assert request.body["metadata"] == {"name": "shop", "annotations": obj["metadata"]["annotations"]}
