"""A store is all or nothing, ordered, and its revisions only grow."""

import pytest

from applyviz.sandbox.storage.store import MemoryStore, ObjectKey


def test_transaction_takes_everything_back_when_it_fails():
    store = MemoryStore()
    store.put(ObjectKey("", "configmaps", "n", "kept"), {"v": 1})

    def fail() -> None:
        with store.transaction():
            store.put(ObjectKey("", "configmaps", "n", "new"), {"v": 2})
            store.delete(ObjectKey("", "configmaps", "n", "kept"))
            store.next_revision()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert store.list("", "configmaps") == [{"v": 1}]
    assert store.revision() == 0


def test_list_is_ordered_by_namespace_and_name():
    store = MemoryStore()
    for namespace, name in (("b", "1"), ("a", "2"), ("a", "1")):
        store.put(ObjectKey("", "configmaps", namespace, name), {"at": f"{namespace}/{name}"})
    store.put(ObjectKey("apps", "configmaps", "a", "0"), {"at": "another group"})

    assert [o["at"] for o in store.list("", "configmaps")] == ["a/1", "a/2", "b/1"]
    assert [o["at"] for o in store.list("", "configmaps", "a")] == ["a/1", "a/2"]


def test_put_keeps_a_copy():
    store = MemoryStore()
    value = {"list": [1]}
    store.put(ObjectKey("", "configmaps", "n", "x"), value)

    value["list"].append(2)

    assert store.get(ObjectKey("", "configmaps", "n", "x")) == {"list": [1]}
