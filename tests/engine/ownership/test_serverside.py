"""Stories of several managers on one object."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import ConflictError, OwnershipError
from applyviz.engine.objects.fieldsets import from_paths
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership import managed_fields, server_side, updates
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema, SchemaOrigin

DEPLOYMENT = bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment"))
REPLICAS = fields("spec", "replicas")


class Story:
    """One Deployment, written by several managers, one second apart."""

    def __init__(self):
        self.live = None
        self.second = 0

    def _now(self):
        self.second += 1
        return f"2026-01-01T00:00:{self.second:02}Z"

    def _object(self, spec):
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    def apply(self, manager, spec, **options):
        applied = server_side.apply(
            self.live, self._object(spec), kind=DEPLOYMENT, manager=manager, now=self._now(), **options
        )
        self.live = applied.result
        return applied

    def update(self, manager, spec, **options):
        new = {**(self.live or self._object({})), "spec": {**(self.live or {}).get("spec", {}), **spec}}
        entries = updates.update(self.live, new, kind=DEPLOYMENT, manager=manager, now=self._now(), **options)
        self.live = managed_fields.with_entries(new, entries)

    def spec(self):
        """What the story is about; the empty structs of a created object are not."""
        return {k: v for k, v in self.live["spec"].items() if k in ("replicas", "paused")}

    def owners(self, path):
        return [(o.manager, o.operation) for o in managed_fields.read_owners(self.live).of(path)]


def test_handover_of_replicas_leaves_them_to_the_autoscaler():
    story = Story()
    story.apply("alice", {"replicas": 3, "paused": True})

    story.apply("handover-to-hpa", {"replicas": 3})
    story.apply("alice", {"paused": True})
    story.update("hpa", {"replicas": 9}, subresource="scale")

    assert story.spec() == {"replicas": 9, "paused": True}
    assert story.owners(REPLICAS) == [("hpa", "Update")]


def test_dropped_field_without_other_owner_is_removed():
    story = Story()
    story.apply("alice", {"replicas": 3, "paused": True})

    story.apply("alice", {"paused": True})

    assert story.spec() == {"paused": True}
    assert story.owners(REPLICAS) == []


def test_conflict_names_manager_operation_and_field():
    story = Story()
    story.apply("alice", {"replicas": 3})
    story.update("kubectl-scale", {"replicas": 5}, subresource="scale")

    with pytest.raises(ConflictError) as caught:
        story.apply("alice", {"replicas": 3})

    (conflict,) = caught.value.conflicts
    assert (conflict.manager, conflict.operation, conflict.subresource) == ("kubectl-scale", "Update", "scale")
    assert (conflict.path, conflict.field, conflict.time) == (REPLICAS, ".spec.replicas", "2026-01-01T00:00:02Z")
    assert str(caught.value) == (
        'Apply failed with 1 conflict: conflict with "kubectl-scale" with subresource "scale" using apps/v1: '
        ".spec.replicas"
    )


def test_force_takes_fields_from_others():
    story = Story()
    story.apply("alice", {"replicas": 3})

    forced = story.apply("bob", {"replicas": 4}, force=True)

    assert forced.fields == from_paths([REPLICAS])
    assert story.owners(REPLICAS) == [("bob", "Apply")]


def test_same_again_changes_nothing():
    story = Story()
    story.apply("alice", {"replicas": 3})
    before = story.live

    again = story.apply("alice", {"replicas": 3})

    assert again.is_changed is False
    assert again.result == before


def test_apply_shares_what_it_does_not_change():
    story = Story()
    story.apply("alice", {"replicas": 3, "template": {"spec": {"containers": [{"name": "web", "image": "a"}]}}})
    template = story.live["spec"]["template"]

    story.apply("bob", {"paused": True})

    assert story.live["spec"]["template"] is template


def test_object_nested_too_deeply_is_refused():
    deep = "x"
    for _ in range(5_000):
        deep = {"a": deep}
    kind = KindSchema(GroupVersionKind("", "v1", "Loose"), None, SchemaOrigin.NONE, is_custom=True)
    live = {"apiVersion": "v1", "kind": "Loose", "spec": deep}
    applied = {"apiVersion": "v1", "kind": "Loose", "spec": {"b": 1}}

    with pytest.raises(OwnershipError, match="nested too deeply"):
        server_side.apply(live, applied, kind=kind, manager="alice", now="2026-01-01T00:00:00Z")
    with pytest.raises(OwnershipError, match="nested too deeply"):
        updates.update(applied, live, kind=kind, manager="alice", now="2026-01-01T00:00:00Z")
