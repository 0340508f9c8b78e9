"""After a run a scan looks at what the run wrote, and at nothing else; the whole cluster is looked at now and then."""

import json
from datetime import timedelta

import pytest

from applyviz.engine.objects.exchange import Request
from applyviz.records.enums import FindingSort
from applyviz.records.models import ClusterScan, LiveFinding
from applyviz.workflow.live import scan_lists, scans
from tests.shared_stories import share_story
from tests.stories import SETTINGS, config_map

OTHER = "/api/v1/namespaces/default/configmaps/other"


def play(team):
    """Two objects of one run; the whole cluster was looked at since."""
    team.apply(config_map(a="1"), config_map("other", a="1"))
    look(scans.request_scan(team.cluster, by=None))


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played, db, monkeypatch, settings):
    settings.APPLYVIZ_SCAN_MINUTES = 15
    return played.go_on(monkeypatch)


def look(scan):
    scans.scan_cluster(scan.pk)
    scan.refresh_from_db()
    assert (scan.finished_at is not None, scan.problem) == (True, "")
    return scan


def look_after_run(team):
    """Perform the scan that the sweep requests right after a run."""
    last = ClusterScan.objects.latest("pk")
    assert scans.request_due(now=last.created_at) == 1
    scan = ClusterScan.objects.latest("pk")
    assert scan.since == last.created_at
    return look(scan)


def found(sort=None):
    rows = LiveFinding.objects.filter(gone_at=None).exclude(sort=FindingSort.UNREVIEWED).order_by("name")
    return [(row.sort, row.name) for row in (rows.filter(sort=sort) if sort else rows)]


def test_only_what_the_run_wrote_is_read(team):
    team.apply(config_map(a="2"), config_map("other", a="1"))
    before = len(team.wire.identities)

    scan = look_after_run(team)

    read = [request.path for _identity, request in team.wire.identities[before:] if "/namespaces/" in request.path]
    listed = [request.path for _identity, request in team.wire.identities[before:] if request.purpose == "list"]
    assert (read, listed, scan.objects_read) == ([SETTINGS], [], 1)


def test_what_happened_to_it_is_found_and_other_changes_wait_for_a_scan_of_everything(team):
    team.apply(config_map(a="2"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    team.edit(OTHER, {"data": {"a": "by hand"}})

    look_after_run(team)
    after_run = found(FindingSort.CHANGED)
    look(scans.request_scan(team.cluster, by=None))

    assert after_run == [("changed", "settings")]
    assert found(FindingSort.CHANGED) == [("changed", "other"), ("changed", "settings")]


def test_object_that_is_gone_again_is_missing(team):
    team.apply(config_map(a="2"))
    team.send(Request("DELETE", SETTINGS))
    team.send(Request("DELETE", OTHER))

    look_after_run(team)

    assert found() == [("missing", "settings")]


def test_applied_object_whose_kind_is_not_listed_is_missing_only_once_it_is_gone(team):
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "turn", "namespace": "default"},
    }
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/turn"
    team.apply(json.dumps({**lease, "spec": {"leaseDurationSeconds": 15}}))

    look(scans.request_scan(team.cluster, by=None))
    there = found()
    team.edit(path, {"spec": {"leaseDurationSeconds": 30}})
    look(scans.request_scan(team.cluster, by=None))
    drifted = found()
    team.send(Request("DELETE", path))
    look(scans.request_scan(team.cluster, by=None))

    assert (there, drifted, found()) == ([], [("drifted", "turn")], [("missing", "turn")])


@pytest.mark.long
def test_findings_end_with_the_run_that_ended_them_and_others_stay(team):
    for path in (SETTINGS, OTHER):
        team.edit(path, {"data": {"a": "by hand"}})
    look(scans.request_scan(team.cluster, by=None))
    before = found(FindingSort.DRIFTED)
    team.apply(config_map(a="3"), takes_over=True)

    look_after_run(team)

    assert before == [("drifted", "other"), ("drifted", "settings")]
    assert found(FindingSort.DRIFTED) == [("drifted", "other")]


@pytest.mark.long
def test_object_that_cannot_be_read_is_not_missing(team):
    team.apply(config_map(a="2"))
    team.wire.unreadable.add(SETTINGS)

    scan = look_after_run(team)

    assert (scan.unread, found()) == (["ConfigMap"], [])


@pytest.mark.long
def test_pages_show_the_scan_of_everything_and_no_run_that_was_looked_at(team):
    whole = scans.find_last(team.cluster, for_user=team.alice)
    run = team.apply(config_map(a="2"))
    later = scan_lists.find_later_runs([team.cluster]).get(team.cluster.pk)
    look_after_run(team)

    assert (later, scan_lists.find_later_runs([team.cluster]).get(team.cluster.pk)) == (run, None)
    assert scans.find_last(team.cluster, for_user=team.alice) == whole


@pytest.mark.long
def test_everything_is_looked_at_when_its_time_has_come_also_after_a_run(team):
    team.apply(config_map(a="2"))
    look_after_run(team)
    last = ClusterScan.objects.earliest("pk")

    assert scans.request_due(now=last.created_at + timedelta(minutes=14)) == 0
    assert scans.request_due(now=last.created_at + timedelta(minutes=16)) == 1
    assert ClusterScan.objects.latest("pk").since is None
