"""Scans of whole clusters hold up nothing: a queue of their own, and where one process does everything, processes."""

from __future__ import annotations

import signal
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from applyviz import audit_origin, stopping
from applyviz.queue import TaskName
from applyviz.records.models import ClusterScan, OutboxMessage
from applyviz.workflow.live import scan_process, scans
from tests.stories import Team, config_map
from tests.yaml_files import read_yaml


@pytest.fixture
def apart(monkeypatch):
    """Processes are started; returns what sets the Python code of their command."""
    started = threading.Event()
    monkeypatch.setattr(scan_process, "_is_apart", started)
    scan_process.start_processes()

    def use(code: str) -> None:
        monkeypatch.setattr(scan_process, "_name_command", lambda scan_id: [sys.executable, "-c", code, str(scan_id)])

    return use


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 30
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)
    return path.read_text()


def test_whole_cluster_and_touched_objects_have_different_tasks_and_queues(db, settings):
    settings.APPLYVIZ_SCAN_MINUTES = 15
    team = Team()
    later = timezone.now() + timedelta(seconds=20)
    whole = scans.request_scan(team.cluster, by=None)
    assert scans.find_unfinished(now=later) == [(whole.pk, TaskName.SCAN_WHOLE_CLUSTER)]
    ClusterScan.objects.filter(pk=whole.pk).update(finished_at=timezone.now())
    touched = scans.request_scan(team.cluster, by=None, since=timezone.now())
    assert scans.find_unfinished(now=later) == [(touched.pk, TaskName.SCAN_CLUSTER)]

    posted = OutboxMessage.objects.filter(task__contains="scan").values_list("task", flat=True)
    assert sorted(posted) == ["applyviz.scan_cluster", "applyviz.scan_whole_cluster"]
    queues = {name: settings.CELERY_TASK_ROUTES[name.value]["queue"] for name in (*TaskName,) if "scan" in name.value}
    assert queues == {TaskName.SCAN_CLUSTER: "plans", TaskName.SCAN_WHOLE_CLUSTER: "scans"}


def test_compose_file_has_one_worker_for_every_queue():
    services = read_yaml(settings.BASE_DIR / "docker-compose.yml")["services"]

    commands = {name: one["command"] for name, one in services.items() if name.startswith("worker-")}
    queues = {name: words[words.index("--queues") + 1] for name, words in commands.items()}
    assert queues == {f"worker-{queue}": queue for queue in settings.CELERY_TASK_QUEUES}


def test_scan_happens_here_unless_processes_are_started(db, monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(a="1"))
    scan = scans.request_scan(team.cluster, by=None)

    scan_process.scan_whole_cluster(scan.pk)

    scan.refresh_from_db()
    assert (scan.finished_at is not None, scan.problem, scan.objects_read > 0) == (True, "", True)


def test_command_is_given_the_scan_at_a_low_priority():
    words = scan_process._name_command(12)

    assert words[-3:] == [str(settings.BASE_DIR / "manage.py"), "scan", "12"]
    assert (Path(words[0]).name, words[1:3]) == ("nice", ["-n", "10"])


def test_one_process_at_a_time_and_the_next_one_after_it(apart, tmp_path):
    seen, go_on = tmp_path / "seen", tmp_path / "go-on"
    apart(
        "import pathlib, sys, time\n"
        f"seen, go_on = pathlib.Path({str(seen)!r}), pathlib.Path({str(go_on)!r})\n"
        "with seen.open('a') as file: file.write(sys.argv[1] + ' ')\n"
        "while not go_on.exists(): time.sleep(0.02)\n"
    )
    first = threading.Thread(target=scan_process.scan_whole_cluster, args=(1,))
    first.start()
    wait_for(seen)

    scan_process.scan_whole_cluster(2)
    assert seen.read_text() == "1 "

    go_on.touch()
    first.join(30)
    scan_process.scan_whole_cluster(3)
    assert seen.read_text() == "1 3 "


def test_process_ends_with_the_worker(apart, tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    apart(
        "import pathlib, signal, sys, time\n"
        f"seen = pathlib.Path({str(seen)!r})\n"
        "signal.signal(signal.SIGTERM, lambda *_: (seen.write_text('ended'), sys.exit(0)))\n"
        "seen.write_text('began')\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setattr(stopping, "is_requested", lambda: seen.exists() and seen.read_text() != "")

    scan_process.scan_whole_cluster(1)

    assert seen.read_text() == "ended"


def test_process_that_takes_an_hour_is_ended(apart):
    apart("import time; time.sleep(60)")
    moments = iter([0.0, 3600.0, 3601.0])

    scan_process.scan_whole_cluster(1, clock=lambda: next(moments))

    assert not scan_process._turn.locked()


def test_process_that_fails_is_logged_and_asked_for_again(apart, caplog):
    apart("raise SystemExit(3)")

    scan_process.scan_whole_cluster(7)

    assert [record.getMessage() for record in caplog.records] == [
        "The process of scan 7 ended with 3; the recovery starts it again"
    ]


def test_command_scans_as_a_worker_and_hands_over_when_it_must_stop(db, monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(a="1"))
    handlers = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(stopping, "limit_end", lambda: None)
    origins = []
    monkeypatch.setattr(scans, "scan_cluster", lambda scan_id: origins.append((scan_id, audit_origin.current.get())))
    before = audit_origin.current.get()
    try:
        call_command("scan", 5)
        assert [(scan_id, origin.session) for scan_id, origin in origins] == [(5, audit_origin.WORKER)]
        assert not stopping.is_requested()
        handlers[signal.SIGTERM]()
        assert stopping.is_requested()
    finally:
        stopping.clear()
        audit_origin.current.set(before)
