"""Which live changes no run explains: drift, and scans of a sandbox."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from applyviz import stopping
from applyviz.clusters import connect
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, FindingSort, Role
from applyviz.records.models import AuditEntry, ClusterScan, LiveFinding
from applyviz.workflow import runs
from applyviz.workflow.audit import chain
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.live import adoption, inventory, scan_lists, scans
from applyviz.workflow.live.drift import find_drift
from applyviz.workflow.plans import planner
from tests.builders import make_person
from tests.stories import SETTINGS, Team, config_map, secret


def deployment(image="web:v1", replicas=2, **more):
    container = {"name": "web", "image": image, "resources": {"limits": {"cpu": "1000m"}}, **more}
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def test_drift_is_in_fields_of_the_manifest_alone():
    root = bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment")).root
    after = deployment(terminationMessagePath="/dev/termination-log")
    changed = deployment(image="web:v2", replicas=5, terminationMessagePath="/elsewhere", imagePullPolicy="Always")
    changed["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1"
    changed["metadata"]["labels"] = {"team": "other"}

    found = find_drift(Versions(manifest=deployment(), after=after), changed, root=root)

    assert [one.to_json() for one in found] == [
        {"path": ".spec.replicas", "promised": 2, "live": 5},
        {
            "path": '.spec.template.spec.containers[name="web"].image',
            "promised": "web:v1",
            "live": "web:v2",
        },
    ]


def test_drift_shows_what_is_gone():
    manifest = {"data": {"a": "1", "b": "2"}}

    found = find_drift(Versions(manifest=manifest, after=manifest), {"data": {"a": "1"}})

    assert [one.to_json() for one in found] == [{"path": ".data.b", "promised": "2"}]


# Scans of a sandbox ------------------------------------------------------------------------------


def look(team):
    scan = scans.request_scan(team.cluster, by=team.alice)
    scans.scan_cluster(scan.pk)
    scan.refresh_from_db()
    return scan


def found(sort=None):
    rows = LiveFinding.objects.filter(gone_at=None).order_by("id")
    return list(rows.filter(sort=sort) if sort else rows.exclude(sort=FindingSort.UNREVIEWED))


@pytest.fixture
def team(db, monkeypatch):
    return Team().wire_up(monkeypatch)


def test_what_a_run_applied_is_explained(team):
    team.apply(config_map(a="1"), secret(password="x"))

    scan = look(team)

    assert (found(), scan.problem, scan.objects_read > 1) == ([], "", True)


def test_edit_after_a_run_is_found_with_manager_and_field_and_is_drift(team):
    run = team.apply(config_map(a="1", b="2"))
    team.edit(SETTINGS, {"data": {"a": "changed", "extra": "x"}})

    look(team)

    changed, drifted = found(FindingSort.CHANGED), found(FindingSort.DRIFTED)
    assert [(one.manager, one.operation, one.fields, one.run) for one in changed] == [
        ("kubectl-edit", "Update", [".data.a", ".data.extra"], run.number)
    ]
    assert [one.fields for one in drifted] == [[{"path": ".data.a", "promised": "1", "live": "changed"}]]


@pytest.mark.long
def test_finding_is_kept_once_and_ends_when_it_is_put_right(team):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "changed"}})
    look(team)
    look(team)
    assert LiveFinding.objects.filter(sort=FindingSort.DRIFTED).count() == 1

    team.edit(SETTINGS, {"data": {"a": "1"}})
    look(team)

    assert found(FindingSort.DRIFTED) == []
    assert LiveFinding.objects.get(sort=FindingSort.DRIFTED).gone_at is not None


@pytest.mark.long
def test_deleted_object_is_missing(team):
    run = team.apply(config_map(a="1"))
    team.send(Request("DELETE", SETTINGS))

    look(team)

    assert [(one.kind, one.name, one.run) for one in found(FindingSort.MISSING)] == [
        ("ConfigMap", "settings", run.number)
    ]


def test_object_that_nobody_reviewed_is_named_with_its_managers(team):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-hand"}, "data": {"a": "1"}}
    team.send(Request("POST", "/api/v1/namespaces/default/configmaps", {"fieldManager": "kubectl-create"}, JSON, body))

    look(team)

    assert [(one.name, one.manager) for one in found(FindingSort.UNREVIEWED)] == [("by-hand", "kubectl-create")]
    assert not AuditEntry.objects.filter(action=AuditAction.LIVE_CHANGED).exists()


@pytest.mark.long
def test_history_tells_what_later_scans_find(team):
    team.apply(config_map(a="1"))
    look(team)
    team.edit(SETTINGS, {"data": {"a": "changed"}})
    look(team)

    told = AuditEntry.objects.filter(action__startswith="live.").order_by("id")
    assert [(e.action, e.name, e.field_manager) for e in told] == [
        ("live.changed", "settings", "kubectl-edit"),
        ("live.drifted", "settings", ""),
    ]
    assert chain.verify_chain().is_intact


def test_changed_secret_is_drift_without_its_value(team):
    team.apply(secret(password="canary-7f3a91"))
    team.edit("/api/v1/namespaces/default/secrets/login", {"data": {"password": "Y2FuYXJ5LTJi"}})

    look(team)

    [one] = found(FindingSort.DRIFTED)
    assert one.fields[0]["path"] == ".data.password"
    assert [text for text in ("canary", "Y2FuYXJ5") if text in str(one.fields)] == []


@pytest.mark.long
def test_cluster_that_does_not_answer_is_a_problem_and_no_finding(team, monkeypatch):
    team.apply(config_map(a="1"))

    def refuse(cluster):
        raise UnreachableError("no route")

    monkeypatch.setattr(connect, "open_reader", refuse)

    assert "no route" in look(team).problem
    assert found() == []


def test_one_scan_at_a_time_and_by_whom(team):
    scans.request_scan(team.cluster, by=team.alice)

    with pytest.raises(NotPossibleError):
        scans.request_scan(team.cluster, by=None)
    with pytest.raises(NotAllowedError):
        scans.request_scan(team.cluster, by=make_person("audrey", Role.AUDITOR))


def test_sweep_asks_for_scans_whose_time_has_come(team, settings):
    settings.APPLYVIZ_SCAN_MINUTES = 15
    now = datetime.now(UTC)

    asked = [scans.request_due(now=now), scans.request_due(now=now + timedelta(hours=1))]
    ClusterScan.objects.update(finished_at=now)
    asked += [scans.request_due(now=now), scans.request_due(now=now + timedelta(minutes=16))]
    settings.APPLYVIZ_SCAN_MINUTES = 0

    assert (asked, scans.request_due(now=now + timedelta(days=1))) == ([1, 0, 0, 1], 0)


def test_lost_scan_is_found_and_a_late_worker_changes_nothing(team, settings):
    scan = scans.request_scan(team.cluster, by=None)
    first = scans._claim(scan.pk)

    assert scans._claim(scan.pk) is None
    after = datetime.now(UTC) + timedelta(seconds=settings.APPLYVIZ_LEASE_SECONDS + 1)
    assert scans.find_unfinished(now=after) == [(scan.pk, TaskName.SCAN_WHOLE_CLUSTER)]
    ClusterScan.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    scans.scan_cluster(scan.pk)
    finished = ClusterScan.objects.get().finished_at
    scans._finish(first, [], "late")
    assert (ClusterScan.objects.get().finished_at, ClusterScan.objects.get().problem) == (finished, "")


@pytest.mark.django_db(transaction=True)
def test_scan_of_a_worker_that_must_stop_is_left_to_the_next_at_once(team, monkeypatch):
    scan = scans.request_scan(team.cluster, by=None)
    look = scans._find_changed

    def stop(ref, live, known):
        stopping.request()
        time.sleep(1)
        return look(ref, live, known)

    monkeypatch.setattr(scans, "_find_changed", stop)
    try:
        scans.scan_cluster(scan.pk)
    finally:
        stopping.clear()
    left = ClusterScan.objects.get()
    assert (left.finished_at, left.lease_until) == (None, None)

    monkeypatch.setattr(scans, "_find_changed", look)
    scans.scan_cluster(scan.pk)

    assert (ClusterScan.objects.get().finished_at is not None, ClusterScan.objects.get().problem) == (True, "")


def test_lease_of_a_long_scan_is_renewed_by_its_own_worker_alone(team):
    scan = scans.request_scan(team.cluster, by=None)
    first = scans._claim(scan.pk)
    ClusterScan.objects.update(lease_until=datetime.now(UTC) + timedelta(seconds=1))

    assert scans._keep(first)
    assert ClusterScan.objects.filter(lease_until__gt=datetime.now(UTC) + timedelta(seconds=2)).exists()
    ClusterScan.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    second = scans._claim(scan.pk)
    assert (scans._keep(first), scans._keep(second)) == (False, True)


@pytest.mark.long
def test_inventory_goes_on_behind_the_first_page_and_stops_at_its_bound(team, monkeypatch):
    team.apply(*(config_map(f"part-{n}", a="1") for n in range(7)))
    monkeypatch.setattr(inventory, "_PAGE", 2)

    whole = inventory.read_inventory(team.cluster, for_user=team.alice)
    with connect.open_reader(team.cluster) as reader:
        listing = inventory.Listing(reader, most=3)
        read = len(list(listing.walk()))

    assert sum(one.ref.name.startswith("part-") for one in whole.objects) == 7
    assert (read, listing.is_cut, whole.is_cut) == (3, True, False)


@pytest.mark.long
def test_holdings_are_all_that_one_manager_owns(team):
    team.apply(config_map(a="1", b="2"), field_manager="ci")
    team.apply_as("other", config_map(a="1"))

    held = inventory.read_holdings(team.cluster, "ci", for_user=team.alice).objects

    assert [(one.ref.name, one.fields, one.shared_with) for one in held] == [
        ("settings", (".data.a", ".data.b"), ("other",))
    ]
    assert inventory.read_holdings(team.cluster, "nobody", for_user=team.alice).objects == ()


@pytest.mark.long
def test_adopted_object_changes_nothing_but_its_owner(team):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-hand"}, "data": {"a": "1"}}
    path = "/api/v1/namespaces/default/configmaps"
    team.send(Request("POST", path, {"fieldManager": "kubectl-create"}, JSON, body))
    where = {"group": "", "kind": "ConfigMap", "namespace": "default", "name": "by-hand"}

    shown = adoption.read_adoption(team.cluster, **where, by=team.alice)
    review = adoption.prepare_adoption(
        team.cluster,
        objects=[where],
        title="Adopt it",
        reason="",
        options=ApplyOptions(namespace="default"),
        by=team.alice,
    )()
    planner.make_plan(review.plans.get().pk)
    run = runs.approve_and_run(review.plans.get(), by=team.bob, digest=review.plans.get().digest)
    team.work(run)
    look(team)

    assert (shown.managers, "uid" in shown.shown, "managedFields" in shown.shown) == (("kubectl-create",), False, False)
    assert team.outcomes(run) == ["applied"]
    assert team.live(f"{path}/by-hand")["data"] == {"a": "1"}
    assert [one for one in found(FindingSort.UNREVIEWED) if one.name == "by-hand"] == []


def test_adoption_shows_no_value_of_a_secret(team):
    team.apply(secret(password="canary-7f3a91"))
    where = {"group": "", "kind": "Secret", "namespace": "default", "name": "login"}

    shown = adoption.read_adoption(team.cluster, **where, by=team.alice)

    assert shown.is_masked
    assert [text for text in ("canary", "Y2FuYXJ5") if text in shown.shown] == []


@pytest.mark.long
def test_drift_of_what_somebody_changed_is_the_same_thing_seen_twice(team):
    team.apply(config_map(a="1"), config_map("other", b="1"))
    look(team)
    team.edit(SETTINGS, {"data": {"a": "2"}})
    look(team)

    seen = LiveFinding.objects.filter(gone_at=None).exclude(sort=FindingSort.UNREVIEWED)

    assert {one.sort for one in seen} == {FindingSort.CHANGED, FindingSort.DRIFTED}
    assert [one.sort for one in scans.find_distinct(seen)] == [FindingSort.CHANGED]


@pytest.mark.long
def test_run_makes_the_last_look_old(team, settings):
    settings.APPLYVIZ_SCAN_MINUTES = 15
    team.apply(config_map(a="1"))
    scan = look(team)
    calm = scans.request_due(now=scan.created_at)
    run = team.apply(config_map(a="2"))

    assert calm == 0
    assert scan_lists.find_later_runs([team.cluster]).get(team.cluster.pk) == run
    assert scans.request_due(now=scan.created_at) == 1
