"""Which entries client-side apply left, and what becomes of them when a server-side apply takes them over."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership.client_side import find_managers, find_named, take_over, track
from applyviz.engine.schema.builtin import bundled

MARK = {"f:annotations": {LAST_APPLIED_PATH[-1]: {}}}
NAME = LAST_APPLIED_PATH[-1][2:]
KIND = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))


def make_entry(manager, operation, owned, **more):
    head = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**head, "fieldsV1": owned, **more}


def make_object(*entries, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": list(entries), **metadata}}


@pytest.mark.parametrize(
    ("manager", "marked", "found"),
    [
        ("kubectl-client-side-apply", False, True),
        ("before-first-apply", True, True),
        ("before-first-apply", False, False),
        ("kubectl-create", True, True),
        ("kubectl-edit", False, False),
        ("applyviz", True, True),
        ("applyviz", False, False),
        ("argocd-controller", True, False),
    ],
)
def test_client_side_apply_is_known_by_its_name_or_by_last_applied(manager, marked, found):
    owned = {"f:metadata": MARK} if marked else {"f:data": {}}
    live = make_object(make_entry(manager, "Update", owned))

    assert find_managers(live, manager="applyviz") == ((manager,) if found else ())


def test_entries_of_subresources_and_applies_are_nobodys_to_take():
    entries = [
        make_entry("a", "Apply", {"f:data": {}}),
        make_entry("a", "Update", {"f:data": {}}, subresource="status"),
    ]

    assert find_named(make_object(*entries), ("a",)) == ()


@pytest.mark.parametrize("manager", ["before-first-apply", "kubectl-edit"])
def test_of_those_who_wrote_more_only_what_was_applied_moves(manager):
    owned = {
        "f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}, **MARK},
        "f:spec": {
            "f:ports": {
                'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}},
                'k:{"port":81,"protocol":"TCP"}': {".": {}},
            },
            "f:tags": {'v:"x"': {}, 'v:"y"': {}},
            "f:odd": {'v:"x"': {}},
            "f:text": {"f:below": {}},
        },
    }
    status = make_entry(manager, "Update", {"f:status": {}}, subresource="status")
    other = make_entry("hpa", "Update", {"f:spec": {"f:replicas": {}}})
    last = {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"ports": [{"port": 80}], "tags": ["x"], "odd": {"x": 1}, "text": "no map"},
    }

    moved = take_over(
        make_object(make_entry(manager, "Update", owned), status, other),
        manager="me",
        names=[manager],
        last_applied=last,
    )

    assert moved == [
        make_entry(
            "me",
            "Apply",
            {
                "f:metadata": {"f:labels": {"f:a": {}}, **MARK},
                "f:spec": {
                    "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
                    "f:tags": {'v:"x"': {}},
                },
            },
        ),
        make_entry(
            manager,
            "Update",
            {
                "f:metadata": {"f:labels": {"f:b": {}}},
                "f:spec": {
                    "f:ports": {'k:{"port":81,"protocol":"TCP"}': {}},
                    "f:tags": {'v:"y"': {}},
                    "f:odd": {'v:"x"': {}},
                    "f:text": {"f:below": {}},
                },
            },
        ),
        status,
        other,
    ]


def test_fields_join_the_apply_entry_that_is_there():
    mine = make_entry("me", "Apply", {"f:data": {"f:a": {}}})
    old = make_entry("before-first-apply", "Update", {"f:metadata": MARK})

    moved = take_over(make_object(mine, old), manager="me", names=["before-first-apply"], last_applied=None)

    assert moved == [make_entry("me", "Apply", {"f:data": {"f:a": {}}, "f:metadata": MARK})]


def test_entry_that_owns_nothing_to_move_stays():
    old = [
        make_entry("before-first-apply", "Update", {"f:metadata": MARK}),
        make_entry("before-first-apply", "Update", {"f:data": {}}, apiVersion="v2"),
        make_entry("before-first-apply", "Update", None, apiVersion="v3"),
    ]

    moved = take_over(make_object(*old), manager="me", names=["before-first-apply"], last_applied=None)

    assert moved == [make_entry("me", "Apply", {"f:metadata": MARK}), old[1]]


def test_kubectl_alone_owns_last_applied_afterwards():
    status = make_entry("c", "Update", {"f:metadata": MARK}, subresource="status")
    entries = [
        make_entry("kubectl", "Apply", {"f:data": {}}),
        make_entry("kubectl-last-applied", "Apply", {"f:metadata": MARK}),
        make_entry("argocd", "Update", {"f:metadata": {**MARK, "f:labels": {}}}),
        status,
    ]
    live = make_object(*entries, annotations={NAME: "{}"})

    assert take_over(live, manager="kubectl", names=(), last_applied={}) == [
        make_entry("kubectl", "Apply", {"f:data": {}, "f:metadata": MARK}),
        make_entry("argocd", "Update", {"f:metadata": {"f:labels": {}}}),
        status,
    ]
    assert take_over(live, manager="other", names=(), last_applied={}) == entries


def test_object_without_entries_is_booked_as_before_the_first_apply():
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}

    tracked = track(live, kind=KIND)

    (entry,) = tracked["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], "time" in entry) == ("before-first-apply", "Update", False)
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:x": {}}}
    assert track(tracked, kind=KIND) is tracked


def test_object_that_does_not_fit_its_kind_is_left_alone():
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": 7}

    assert track(live, kind=KIND) is live
