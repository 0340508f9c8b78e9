"""The database as storage of a sandbox: the same answers as the store in memory, all or nothing, sealed."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from applyviz.clusters import storage
from applyviz.clusters.storage import DatabaseStore
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, Request
from applyviz.records.models import SandboxChange, SandboxObject, SandboxState
from applyviz.records.sealing import SealError, sealing_key
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore, ObjectKey, StoredChange
from tests.builders import make_cluster_row

pytestmark = pytest.mark.django_db

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(params=["memory", "database"])
def store(request):
    return MemoryStore() if request.param == "memory" else DatabaseStore(make_cluster_row().pk)


def key(name, namespace="shop", plural="configmaps"):
    return ObjectKey("", plural, namespace, name)


def test_objects_are_kept_and_ordered(store):
    with store.transaction():
        for namespace, name in (("b", "x"), ("a", "z"), ("a", "y")):
            store.put(key(name, namespace), {"at": f"{namespace}/{name}"})
        store.put(key("y", "a"), {"at": "a/y again"})
        store.put(key("s", "a", "secrets"), {"at": "secret"})

    assert [o["at"] for o in store.list("", "configmaps")] == ["a/y again", "a/z", "b/x"]
    assert [o["at"] for o in store.list("", "configmaps", "a")] == ["a/y again", "a/z"]
    assert store.list_keys("a") == [key("y", "a"), key("z", "a"), key("s", "a", "secrets")]
    assert store.get(key("y", "a")) == {"at": "a/y again"}
    assert store.get(key("nobody")) is None


def test_list_comes_with_the_revision_of_its_moment(store, django_assert_max_num_queries):
    nothing = store.list_at_revision("", "configmaps")
    with store.transaction():
        for namespace, name in (("b", "x"), ("a", "z")):
            store.put(key(name, namespace), {"at": f"{namespace}/{name}"})
        store.put(key("s", "a", "secrets"), {"at": "secret"})
        revision = store.next_revision()
        inside = store.list_at_revision("", "configmaps")

    with django_assert_max_num_queries(3):  # two reads could have a write between them
        found = [store.list_at_revision("", *wanted) for wanted in (("configmaps",), ("configmaps", "a"), ("pods",))]

    assert nothing == ([], 0)
    assert [([o["at"] for o in objects], at) for objects, at in found] == [
        (["a/z", "b/x"], revision),
        (["a/z"], revision),
        ([], revision),
    ]
    assert inside == found[0]


def test_list_begins_after_a_place_and_may_be_changed(store):
    names = [("a", "x"), ("a", "z"), ("b", "a")]
    with store.transaction():
        for namespace, name in names:
            store.put(key(name, namespace), {"metadata": {"namespace": namespace, "name": name}})
        inside, _ = store.list_at_revision("", "configmaps", None, ("a", "x"))
        inside[0]["metadata"]["name"] = "changed"
    found, _ = store.list_at_revision("", "configmaps", None, ("a", "x"))
    found[1]["metadata"]["name"] = "changed"

    assert [obj["metadata"]["name"] for obj in (*inside, *found)] == ["changed", "a", "z", "changed"]
    assert [obj["metadata"]["name"] for obj in store.list("", "configmaps")] == ["x", "z", "a"]


def test_first_transaction_of_a_sandbox_reads_nothing():
    store = DatabaseStore(make_cluster_row().pk)
    with store.transaction(), CaptureQueriesContext(connection) as asked:
        assert (store.get(key("x")), store.list("", "configmaps"), store.get_meta("m")) == (None, [], None)
        store.put(key("x"), {"a": 1})
        assert store.list("", "configmaps") == [{"a": 1}]
    with store.transaction():
        assert store.get(key("x")) == {"a": 1}

    assert not asked.captured_queries


def test_deleted_object_is_gone(store):
    with store.transaction():
        store.put(key("x"), {"a": 1})
        store.delete(key("x"))
        store.delete(key("x"))

    assert store.get(key("x")) is None


def test_failed_transaction_leaves_nothing(store):
    with store.transaction():
        store.put(key("x"), {"a": 1})
        store.put_meta("m", [1])
        first = store.next_revision()

    def fail():
        with store.transaction():
            store.put(key("x"), {"a": 2})
            store.put_meta("m", [2])
            store.next_revision()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert (store.get(key("x")), store.get_meta("m"), store.revision()) == ({"a": 1}, [1], first)


def test_revisions_only_grow(store):
    with store.transaction():
        found = [store.next_revision() for _ in range(3)]

    assert found == sorted(set(found))
    assert store.revision() == found[-1]


def test_small_values_are_kept(store):
    assert store.get_meta("nobody") is None
    with store.transaction():
        store.put_meta("addresses", {"10.0.0.1": True})
        store.put_meta("addresses", {"10.0.0.2": True})

    assert store.get_meta("addresses") == {"10.0.0.2": True}


def test_sandbox_lives_in_the_database():
    cluster = make_cluster_row()

    def again():
        return Sandbox(DatabaseStore(cluster.pk), lambda: datetime(2026, 1, 1, tzinfo=UTC))

    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
    created = again().handle(Request("POST", MAPS, {"fieldManager": "me"}, JSON, body))
    query = {"fieldManager": "you", "force": "true"}
    applied = again().handle(Request("PATCH", f"{MAPS}/settings", query, APPLY_PATCH, {**body, "data": {"a": "2"}}))

    assert (created.status, applied.status) == (201, 200)
    found = again().handle(Request("GET", f"{MAPS}/settings")).body
    assert found["data"] == {"a": "2"}
    assert [entry["manager"] for entry in found["metadata"]["managedFields"]] == ["you", "me"]


def test_rows_hold_no_plain_content():
    store = DatabaseStore(make_cluster_row().pk)
    with store.transaction():
        store.put(key("s", plural="secrets"), {"data": {"password": "c3VwZXJzZWNyZXQ="}})

    assert b"c3VwZXJz" not in SandboxObject.objects.get().body.token


def keep(store, name, before=None, after=None, plural="configmaps", namespace="shop"):
    with store.transaction():
        revision = store.next_revision()
        store.keep_change(StoredChange(revision, key(name, namespace, plural), before, after))
    return revision


def test_changes_of_a_resource_are_listed_in_their_order(store):
    first = keep(store, "x", None, {"a": 1})
    keep(store, "s", None, {"data": {}}, "secrets")
    second = keep(store, "x", {"a": 1}, {"a": 2})
    elsewhere = keep(store, "x", {"a": 2}, None, namespace="other")

    found = store.list_changes(0, "", "configmaps")
    assert found == [
        StoredChange(first, key("x"), None, {"a": 1}),
        StoredChange(second, key("x"), {"a": 1}, {"a": 2}),
        StoredChange(elsewhere, key("x", "other"), {"a": 2}, None),
    ]
    assert store.list_changes(first, "", "configmaps", "shop") == found[1:2]
    assert store.list_changes(elsewhere, "", "configmaps") == []


def test_change_of_a_failed_transaction_never_was(store):
    def fail():
        with store.transaction():
            store.keep_change(StoredChange(store.next_revision(), key("x"), None, {"a": 1}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert store.list_changes(0, "", "configmaps") == []


def test_old_changes_are_compacted_by_number_and_by_size(monkeypatch):
    store = DatabaseStore(make_cluster_row().pk)
    monkeypatch.setattr(storage, "KEPT_CHANGES", 40)
    for number in range(64):
        keep(store, "x", None, {"n": number})

    kept = store.list_changes(24, "", "configmaps")
    assert [c.after["n"] for c in kept] == list(range(24, 64))
    assert store.list_changes(23, "", "configmaps") is None

    monkeypatch.setattr(storage, "KEPT_BYTES", 4096)
    last = keep(store, "x", None, {"text": "x" * 2000})
    assert SandboxChange.objects.count() < 30
    assert len(store.list_changes(last - 1, "", "configmaps")) == 1
    assert store.list_changes(40, "", "configmaps") is None


def test_news_are_found_without_opening_anything(settings):
    store = DatabaseStore(make_cluster_row().pk)
    first = keep(store, "x", None, {"a": 1})
    last = keep(store, "s", None, {"data": {}}, "secrets")
    settings.APPLYVIZ_SEALING_KEY, settings.APPLYVIZ_OPENING_KEYS = sealing_key(), []

    assert store.find_news(0, "", "configmaps", "shop") == (True, last)
    assert store.find_news(first, "", "configmaps") == (False, last)
    assert store.find_news(0, "", "configmaps", "other") == (False, last)
    assert store.find_news(last + 5, "", "configmaps") == (False, last + 5)
    with pytest.raises(SealError):
        store.list_changes(0, "", "configmaps")


def test_compacted_changes_may_have_been_news():
    store = DatabaseStore(make_cluster_row().pk)
    SandboxState.objects.create(cluster_id=store._cluster_id, revision=9, compacted=5)

    assert store.find_news(4, "", "configmaps") == (True, 9)
    assert store.find_news(5, "", "configmaps") == (False, 9)


def test_deleted_secret_is_kept_sealed():
    store = DatabaseStore(make_cluster_row().pk)
    keep(store, "s", {"data": {"password": "c3VwZXJzZWNyZXQ="}}, None, "secrets")

    assert b"c3VwZXJz" not in SandboxChange.objects.get().body.token
