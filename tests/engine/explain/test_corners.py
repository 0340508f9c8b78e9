"""Why a field goes where it goes, in corners that no merge of ours reaches by itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership.managed_fields import FieldOwners, OwnedFields
from applyviz.engine.schema import builtin

KIND = builtin.bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment"))
STRATEGY = fields("spec", "strategy", "rollingUpdate", "maxSurge")


def explain_field(path, *, mode, kind=KIND, is_recreated=False, **given):
    versions = SimpleNamespace(**{"last_applied": None, "merged": given.get("after"), **given})
    found = explain(versions=versions, mode=mode, manager="me", kind=kind, is_recreated=is_recreated)
    (reason,) = [r for r in found if r.path == path]
    return reason.operation, reason.reason


def surge(**fields_of_it):
    return {"spec": {"strategy": {"rollingUpdate": fields_of_it}}}


@pytest.mark.parametrize(
    ("path", "versions", "expected"),
    [
        (
            fields("spec", "paused"),
            {"last_applied": {"spec": {"paused": True}}, "manifest": {}, "live": {}, "after": {}},
            (FieldOperation.UNCHANGED, Reason.REMOVED_FROM_MANIFEST),
        ),
        (
            fields("spec", "paused"),
            {"manifest": {"spec": {"paused": None}}, "live": {"spec": {"paused": True}}, "after": {"spec": {}}},
            (FieldOperation.CLEARED, Reason.NULL_CLEARS),
        ),
        (
            fields("spec", "paused"),
            {"manifest": {"spec": {"paused": None}}, "live": {"spec": {}}, "after": {"spec": {}}},
            (FieldOperation.UNCHANGED, Reason.NULL_CLEARS),
        ),
        (
            STRATEGY,
            {"manifest": surge(), "live": surge(maxSurge=1), "after": surge()},
            (FieldOperation.CLEARED, Reason.REPLACED_WHOLE),
        ),
        (
            fields("metadata", "annotations", "deprecated.daemonset.template.generation"),
            {
                "manifest": {"metadata": {"name": "web"}},
                "live": {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "1"}}},
                "merged": {},
                "after": {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "2"}}},
            },
            (FieldOperation.CHANGED, Reason.SERVER_CHANGED),
        ),
        (  # ownership moves first, so that the merge starts from an answer
            fields("metadata", "annotations", "deprecated.daemonset.template.generation"),
            {
                "manifest": {"metadata": {"name": "web"}},
                "live": {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "1"}}},
                "after": {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "2"}}},
            },
            (FieldOperation.CHANGED, Reason.SERVER_CHANGED),
        ),
        (
            STRATEGY,
            {"manifest": surge(), "live": {}, "after": surge(maxSurge=1)},
            (FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT),
        ),
    ],
)
def test_server_side(path, versions, expected):
    assert explain_field(path, mode="server", **versions) == expected


def test_default_that_comes_back_at_once_is_told_as_one():
    live, merged = {"spec": {"paused": True, "replicas": 1}}, {"spec": {"replicas": 1}}

    found = explain_field(fields("spec", "paused"), mode="server", manifest={}, live=live, merged=merged, after=live)

    assert found == (FieldOperation.UNCHANGED, Reason.SERVER_DEFAULT)


def test_list_whose_entries_cannot_be_named_is_one_field():
    live = {"spec": {"template": {"spec": {"containers": [5]}}}}
    path = fields("spec", "template", "spec", "containers")

    assert explain_field(path, mode="client", manifest={}, live=live, after=live)[0] is FieldOperation.KEPT


def test_entry_that_is_there_twice_shares_its_row_with_the_one_that_is_not():
    owner = {"uid": "u", "name": "a"}
    live = {"metadata": {"ownerReferences": [owner, {**owner, "name": "b"}]}}
    wanted = {"metadata": {"ownerReferences": [owner]}}

    found = explain_field(
        (*fields("metadata", "ownerReferences"), 'k:{"uid":"u"}'),
        mode="client",
        manifest=wanted,
        live=live,
        after=wanted,
    )

    assert found == (FieldOperation.CHANGED, Reason.REPLACED_WHOLE)


@pytest.mark.parametrize("noted", [{}, []])
def test_empty_map_that_only_last_applied_has_is_no_field_beside_the_fields_below_it(noted):
    notes, team = fields("metadata", "annotations"), fields("metadata", "annotations", "team")
    live = {"metadata": {"annotations": {"team": "a"}}}
    remembered = {"metadata": {"annotations": noted}}
    versions = SimpleNamespace(last_applied=remembered, manifest={"metadata": {}}, live=live, after=live, merged=live)

    paths = [r.path for r in explain(versions=versions, mode="client", manager="me", kind=KIND)]

    assert team in paths
    assert notes not in paths


def test_empty_map_of_the_manifest_is_told_by_the_fields_that_live_has_there():
    notes, live = fields("metadata", "annotations"), {"metadata": {"annotations": {"team": "a"}}}
    empty = {"metadata": {"annotations": {}}}
    versions = SimpleNamespace(last_applied=empty, manifest=empty, live=live, after=live, merged=live)

    assert [r.path for r in explain(versions=versions, mode="client", manager="me", kind=KIND)] == [(*notes, "f:team")]


def test_empty_list_that_the_manager_does_not_own_after_apply_is_no_move_of_ownership():
    path = fields("spec", "paused")
    live, wanted = {"spec": {"paused": True}}, {"spec": {"paused": True}}
    versions = SimpleNamespace(last_applied=None, manifest=wanted, live=live, after=live, merged=live)
    mine = FieldSet(frozenset(), {"f:spec": FieldSet(frozenset({"f:paused"}))})
    client = FieldOwners((OwnedFields(Owner("kubectl-client-side-apply", "Update", "v1", "", ""), mine),))
    yours = FieldOwners((OwnedFields(Owner("me", "Apply", "v1", "", ""), mine),))

    def judge(after):
        given = {"mode": "server", "manager": "me", "kind": KIND, "owners_before": client, "owners_after": after}
        (found,) = [r.reason for r in explain(versions=versions, **given) if r.path == path]
        return found

    assert judge(yours) is Reason.OWNERSHIP_MOVES
    assert judge(FieldOwners()) is Reason.MANIFEST_EQUALS_LIVE


VOLUMES = fields("spec", "template", "spec", "volumes")


def mount(*names):
    return {"spec": {"template": {"spec": {"volumes": [{"name": name, "emptyDir": {}} for name in names]}}}}


@pytest.mark.parametrize("live", [{}, mount("token-1")])
def test_entry_of_a_list_that_the_manifest_leaves_empty_is_a_default_of_the_new_object(live):
    given = {"live": live, "manifest": mount(), "after": mount("token-2"), "merged": mount()}

    found = explain_field((*VOLUMES, 'k:{"name":"token-2"}', "f:name"), mode="client", is_recreated=True, **given)

    assert found == (FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT)


def test_fields_that_an_admission_webhook_makes_of_one_value_are_a_change_of_the_server():
    given = {"live": {}, "manifest": {"spec": {"size": 5}}, "after": {"spec": {"size": {"value": 5}}}}

    found = explain_field(fields("spec", "size", "value"), mode="client", is_recreated=True, kind=None, **given)

    assert found == (FieldOperation.SET, Reason.SERVER_CHANGED)
