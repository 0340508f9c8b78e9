"""The database as storage of a sandbox: the same answers as the store in memory, all or nothing, sealed."""

from datetime import UTC, datetime

import pytest

from applyviz.clusters.storage import DatabaseStore
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, Request
from applyviz.records.models import SandboxObject
from applyviz.sandbox.server import Sandbox
from applyviz.sandbox.store import Key, MemoryStore
from tests.builders import make_cluster_row

pytestmark = pytest.mark.django_db

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(params=["memory", "database"])
def store(request):
    return MemoryStore() if request.param == "memory" else DatabaseStore(make_cluster_row().pk)


def key(name, namespace="shop", plural="configmaps"):
    return Key("", plural, namespace, name)


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
