"""Which entries of managedFields no write of a run explains: the calculation on plain objects."""

from datetime import UTC, datetime, timedelta

import pytest

from applyviz.workflow.live.unreviewed_changes import ExternalWrite, find_unreviewed_changes

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def entry(manager, at, *fields, operation="Update", subresource=""):
    found = {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {f"f:{name}": {} for name in fields}},
    }
    if at is not None:
        found["time"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return found | ({"subresource": subresource} if subresource else {})


def live(*entries):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": list(entries)}}


def write(manager, sent, seconds=1.0):
    return ExternalWrite(manager, sent, sent + timedelta(seconds=seconds), 7)


@pytest.mark.parametrize(
    ("manager", "offset", "is_found"),
    [
        ("applyviz", 0, False),
        ("applyviz", 8, False),
        ("applyviz", -8, False),
        ("applyviz", 30, True),
        ("applyviz", -30, True),
        ("kubectl-edit", 0, True),
    ],
)
def test_write_explains_its_own_manager_at_its_time(manager, offset, is_found):
    obj = live(entry(manager, NOON + timedelta(seconds=offset), "a", operation="Apply"))

    assert bool(find_unreviewed_changes(obj, [write("applyviz", NOON)])) is is_found


@pytest.mark.parametrize("manager", ["before-first-apply", "ancient-changes"])
@pytest.mark.parametrize(("offset", "is_found"), [(0, False), (30, True)])
def test_write_explains_the_entries_that_the_server_writes_with_it(manager, offset, is_found):
    """Anyone may write by the name of such an entry, so that its time has to be that of a run."""
    obj = live(entry(manager, NOON + timedelta(seconds=offset), "a"))

    assert bool(find_unreviewed_changes(obj, [write("applyviz", NOON)])) is is_found


def test_unexplained_names_owner_time_and_fields():
    obj = live(entry("kubectl-edit", NOON, "a", "b"), entry("ci", NOON - timedelta(hours=1), "c"))

    found = find_unreviewed_changes(obj, [write("ci", NOON - timedelta(hours=1))])

    assert [(one.owner.manager, one.at, one.fields) for one in found] == [
        ("kubectl-edit", NOON, (".data.a", ".data.b"))
    ]


def test_status_and_what_was_there_before_are_left_out():
    obj = live(
        entry("kubelet", NOON, "a", subresource="status"),
        entry("kubectl-create", NOON - timedelta(days=9), "b"),
        entry("timeless", None, "c"),
    )

    assert find_unreviewed_changes(obj, [], since=NOON - timedelta(days=1)) == ()
    assert [one.owner.manager for one in find_unreviewed_changes(obj, [])] == ["kubectl-create"]
