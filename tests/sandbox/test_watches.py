"""Watches: every change once and in order, selectors, bookmarks, what is compacted, and no gap after a list."""

import json
from collections.abc import Callable

import pytest

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.api.http import HttpFace, WatchPosition
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage import store as stores
from applyviz.sandbox.storage.store import MemoryStore
from tests.sandbox.conftest import NOW
from tests.sandbox.test_server import make_definition, make_map

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
BEARER = {"Authorization": "Bearer secret-token"}


@pytest.fixture
def watch(sandbox):
    def step(position=None, path=MAPS, *, has_bookmark=False, **query):
        return sandbox.watch(Request("GET", path, query), position, has_bookmark=has_bookmark)

    return step


@pytest.fixture
def face(sandbox):
    return HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)


def brief(step):
    return [(e.type, e.object["metadata"].get("name", "")) for e in step.events]


def change(ask, name, **labels):
    return ask("PATCH", f"{MAPS}/{name}", {"metadata": {"labels": labels}}, MERGE_PATCH)


def test_creates_updates_and_deletes_are_events_in_their_order(ask, watch):
    begun = watch()
    ask("POST", MAPS, make_map("a"))
    ask("POST", "/api/v1/namespaces/kube-system/configmaps", make_map("elsewhere"))
    change(ask, "a", x="1")
    ask("DELETE", f"{MAPS}/a")

    step = watch(begun.position)

    assert brief(step) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    versions = [int(e.object["metadata"]["resourceVersion"]) for e in step.events]
    assert versions == sorted(set(versions))
    assert versions[-1] == step.position
    assert [e.object["kind"] for e in step.events] == ["ConfigMap"] * 3
    assert watch(step.position).events == ()


def test_watch_without_a_revision_begins_with_the_present(ask, watch):
    ask("POST", MAPS, make_map("a"))

    step = watch(allowWatchBookmarks="true")

    assert brief(step) == [("ADDED", "a"), ("BOOKMARK", "")]
    assert step.events[1].object["metadata"] == {
        "resourceVersion": str(step.position),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


def test_watch_of_a_list_tells_what_came_after_it(ask, watch):
    ask("POST", MAPS, make_map("a"))
    version = ask("GET", MAPS).body["metadata"]["resourceVersion"]
    ask("POST", MAPS, make_map("b"))

    assert brief(watch(resourceVersion=version)) == [("ADDED", "b")]


def test_objects_come_into_sight_of_a_selector_and_leave_it(ask, watch):
    begun = watch(labelSelector="tier=web")
    ask("POST", MAPS, make_map("a"))
    for tier in ("web", "web", "db"):
        change(ask, "a", tier=tier, turn=tier)
    change(ask, "a", tier="web")
    ask("DELETE", f"{MAPS}/a")

    step = watch(begun.position, labelSelector="tier=web")

    assert brief(step) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a"), ("DELETED", "a")]
    assert brief(watch(begun.position, fieldSelector="metadata.name=b")) == []


def test_bookmarks_are_for_those_who_want_them(watch):
    position = watch().position

    assert watch(position, has_bookmark=True).events == ()
    step = watch(position, has_bookmark=True, path="/api/v1/pods", allowWatchBookmarks="true")
    assert [e.object for e in step.events] == [
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(position)},
            "spec": {"containers": None},
            "status": {},
        }
    ]


def test_position_moves_on_with_what_others_write(ask, watch):
    begun = watch(path="/api/v1/secrets")
    ask("POST", MAPS, make_map("a"))

    assert watch(begun.position, path="/api/v1/secrets").position > begun.position


def test_too_old_a_revision_is_gone(ask, watch, monkeypatch):
    monkeypatch.setattr(stores, "KEPT_CHANGES", 3)
    begun = watch()
    for name in "abcd":
        ask("POST", MAPS, make_map(name))

    step = watch(resourceVersion=str(begun.position))

    assert step.is_ended
    assert [e.type for e in step.events] == ["ERROR"]
    status = step.events[0].object
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"] == f"too old resource version: {begun.position} ({begun.position + 4})"
    assert brief(watch(begun.position + 1)) == [("ADDED", "b"), ("ADDED", "c"), ("ADDED", "d")]


def test_what_a_namespace_and_an_owner_take_along_is_told(ask, watch):
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    ask("POST", "/api/v1/namespaces", body)
    ask("POST", "/api/v1/namespaces/shop/configmaps", make_map("a"))
    begun = watch(path="/api/v1/configmaps")
    ask("DELETE", "/api/v1/namespaces/shop")

    assert brief(watch(begun.position, path="/api/v1/configmaps")) == [("DELETED", "a")]
    assert brief(watch(begun.position, path="/api/v1/namespaces")) == [("MODIFIED", "shop"), ("DELETED", "shop")]


def test_custom_resources_are_watched_until_their_definition_goes(ask, watch):
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    path = "/apis/example.org/v1/namespaces/default/gizmos"
    ask("POST", definitions, make_definition())
    begun = watch(path=path)
    ask("POST", path, {"apiVersion": "example.org/v1", "kind": "Gizmo", "metadata": {"name": "g"}})

    assert brief(watch(begun.position, path=path)) == [("ADDED", "g")]
    ask("DELETE", f"{definitions}/gizmos.example.org")
    with pytest.raises(StatusError) as refused:
        watch(begun.position, path=path)
    assert refused.value.code == 404


class BusyStore(MemoryStore):
    """Another client writes right before and right after every list."""

    def __init__(self):
        super().__init__()
        self.write: Callable[[], None] = lambda: None

    def list_at_revision(self, *args):
        self.write()
        found = super().list_at_revision(*args)
        self.write()
        return found


def test_nothing_is_lost_between_a_list_and_a_watch():
    store = BusyStore()
    sandbox = Sandbox(store, lambda: NOW)
    sandbox.handle(Request("GET", MAPS))
    names = ["after", "before"]
    store.write = lambda: sandbox.handle(Request("POST", MAPS, {}, "application/json", make_map(names.pop())))

    listed = sandbox.handle(Request("GET", MAPS)).body
    store.write = lambda: None
    later = sandbox.watch(Request("GET", MAPS, {"resourceVersion": listed["metadata"]["resourceVersion"]}))

    assert [o["metadata"]["name"] for o in listed["items"]] == ["before"]
    assert brief(later) == [("ADDED", "after")]


def test_pages_are_of_one_revision_so_that_a_watch_from_it_misses_nothing(ask, watch):
    for name in "abc":
        ask("POST", MAPS, make_map(name))
    first = ask("GET", MAPS, limit="1").body
    ask("DELETE", f"{MAPS}/b")

    second = ask("GET", MAPS, **{"continue": first["metadata"]["continue"]}).body

    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert [o["metadata"]["name"] for o in second["items"]] == ["c"]
    assert brief(watch(resourceVersion=second["metadata"]["resourceVersion"])) == [("DELETED", "b")]


# What kube-apiserver v1.36.3 answers.
@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            {"sendInitialEvents": "true"},
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "1"},
            422,
            'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is '
            "forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "
            '"Exact": supported values: "NotOlderThan"]',
        ),
        (
            {"resourceVersion": "abc"},
            500,
            'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
        ),
        (
            {"resourceVersion": "18446744073709551616"},
            500,
            'resourceVersion: Invalid value: "18446744073709551616": strconv.ParseUint: parsing '
            '"18446744073709551616": value out of range',
        ),
        (
            {"timeoutSeconds": "9223372036854775808"},
            400,
            'strconv.ParseInt: parsing "9223372036854775808": value out of range',
        ),
        ({"timeoutSeconds": "abc"}, 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ({"timeoutSeconds": ""}, 400, 'strconv.ParseInt: parsing "": invalid syntax'),
    ],
)
def test_options_are_refused_as_by_the_server(face, query, code, message):
    text = "&".join(["watch=true", *(f"{k}={v}" for k, v in query.items())])

    part = face.watch(MAPS, text, BEARER)

    assert (part.is_ended, part.response.status) == (True, code)
    assert json.loads(part.response.body)["message"] == message


def test_initial_events_can_be_left_out_or_asked_for(ask, watch):
    ask("POST", MAPS, make_map("a"))

    without = watch(sendInitialEvents="false", resourceVersionMatch="NotOlderThan")
    with_them = watch(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", resourceVersion="1")

    assert (brief(without), brief(with_them)) == ([], [("ADDED", "a")])


def test_columns_of_a_table_are_told_once(ask, face):
    headers = BEARER | {"Accept": TABLE}
    begun = face.watch(MAPS, "watch=true&resourceVersion=1", headers, WatchPosition(6, is_begun=False))
    ask("POST", MAPS, make_map("a"))
    change(ask, "a", x="1")

    first = face.watch(MAPS, "watch=true", headers, begun.position)
    change(ask, "a", x="2")
    second = face.watch(MAPS, "watch=true", headers, first.position)

    events = [json.loads(line) for part in (first, second) for line in part.response.body.splitlines()]
    assert [e["type"] for e in events] == ["ADDED", "MODIFIED", "MODIFIED"]
    assert [bool(e["object"]["columnDefinitions"]) for e in events] == [True, False, False]
    assert [e["object"]["kind"] for e in events] == ["Table"] * 3
    assert events[0]["object"]["rows"][0]["cells"][:1] == ["a"]


@pytest.mark.parametrize(
    ("asked", "given"),
    [("", 300), ("&timeoutSeconds=0", 300), ("&timeoutSeconds=7", 7), ("&timeoutSeconds=86400", 300)],
)
def test_seconds_are_what_was_asked_for_up_to_five_minutes(face, asked, given):
    assert face.watch(MAPS, f"watch=true{asked}", BEARER).seconds == given


def test_watch_begins_with_the_warning_about_its_resource(face):
    part = face.watch("/api/v1/endpoints", "watch=true", BEARER)

    assert [value for name, value in part.response.headers if name == "Warning"] == [
        '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    ]


def test_token_counts_for_every_part(face):
    part = face.watch(MAPS, "watch=true", {"Authorization": "Bearer wrong"}, WatchPosition(1, is_begun=True))

    assert (part.response.status, part.is_ended) == (401, True)
