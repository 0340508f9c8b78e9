"""Waiting for rollouts, where the rules of a run say so: ready, failed, late, lost and canceled."""

import json

import msgspec
import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.records.enums import RunState
from applyviz.records.models import RolloutSample
from applyviz.workflow import runs
from applyviz.workflow.runs import rollout
from applyviz.workflow.runs.pod_reports import PodReport, read_pod_report
from tests.memory import start
from tests.stories import Killed, let_lease_run_out
from tests.workloads import (
    BEHIND,
    READY,
    STUCK,
    WAITING,
    answer_lists,
    become,
    deployment,
    scaler,
    slow_team,
    stuck_pod,
    work_with_clock,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def slow(memory, monkeypatch):
    return slow_team(memory, monkeypatch)


def test_next_step_waits_for_the_rollout_when_the_rules_say_so(slow, memory):
    def pause(seconds):
        assert "web" not in memory.sent[1:]
        become(memory, "web", **READY)

    run = work_with_clock(start(slow, deployment(), scaler(), waits_for_rollout=True), pause)

    states = list(run.results.order_by("position").values_list("outcome", "rollout", "rollout_detail"))
    assert run.state == RunState.APPLIED
    assert states[0] == ("applied", "ready", "all 1 pods are available")
    assert states[1][0] == "applied"


@pytest.mark.long
def test_nobody_waits_when_the_rules_do_not_say_so(slow, memory):
    run = slow.work(start(slow, deployment(), scaler()))

    assert (run.state, list(run.results.values_list("rollout", flat=True))) == (RunState.APPLIED, ["", ""])


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("status", "seconds", "state"), [(STUCK, 600, "failed"), (BEHIND, 0, "timed-out")], ids=["failed", "late"]
)
def test_rollout_that_fails_or_takes_too_long_stops_the_run(slow, memory, status, seconds, state):
    run = start(slow, deployment(), scaler(), waits_for_rollout=True, rollout_seconds=seconds)

    work_with_clock(run, lambda _: become(memory, "web", **status))

    states = list(run.results.order_by("position").values_list("outcome", "rollout"))
    assert (run.state, states) == (RunState.FAILED, [("applied", state), ("not-attempted", "")])
    assert run.error.startswith("Deployment default/web: ")


@pytest.mark.long
def test_waiting_for_a_rollout_survives_a_lost_worker(slow, memory):
    run = start(slow, deployment(), scaler(), waits_for_rollout=True)

    def die(seconds):
        raise Killed

    with pytest.raises(Killed):
        work_with_clock(run, die)
    first = run.results.get(position=0)
    assert (first.outcome, first.rollout) == ("applied", "rolling-out")
    let_lease_run_out(run)
    become(memory, "web", **READY)

    work_with_clock(run, lambda seconds: None)

    assert (run.state, memory.effective) == (RunState.APPLIED, ["web", "web"])


@pytest.mark.long
def test_canceling_ends_the_wait_for_a_rollout(slow, memory):
    run = start(slow, deployment(), scaler(), waits_for_rollout=True)
    asked = []

    def pause(seconds):
        if not asked:
            asked.append(runs.cancel_run(run, by=slow.bob))

    work_with_clock(run, pause)

    states = list(run.results.order_by("position").values_list("outcome", "rollout"))
    assert (run.state, states) == (
        RunState.CANCELED,
        [("applied", "not-watched"), ("not-attempted", "")],
    )


@pytest.mark.long
def test_one_sample_is_stored_per_change_of_the_pods(slow, memory):
    run = start(slow, deployment(), waits_for_rollout=True)
    steps = iter([BEHIND, BEHIND, {**BEHIND, "readyReplicas": 1}, READY])

    work_with_clock(run, lambda _: become(memory, "web", **next(steps)))

    samples = list(RolloutSample.objects.values_list("new", "ready", "wanted"))
    assert samples == [(0, 0, 1), (1, 1, 1)]
    assert run.results.get().pods == {"new": 1, "ready": 1, "wanted": 1, "problems": [], "unread": {}}


@pytest.mark.long
def test_a_run_stores_so_many_samples_and_no_more(slow, memory, monkeypatch):
    monkeypatch.setattr(rollout, "MOST_SAMPLES", 1)
    run = start(slow, deployment(), waits_for_rollout=True)

    work_with_clock(run, lambda _: become(memory, "web", **READY))

    assert RolloutSample.objects.count() == 1
    assert run.results.get().pods["ready"] == 1


def test_a_rollout_that_fails_says_why_its_pods_do_not_start(slow, memory, monkeypatch):
    asked = answer_lists(memory, monkeypatch, [stuck_pod()], [])
    run = start(slow, deployment(), waits_for_rollout=True)

    work_with_clock(run, lambda _: become(memory, "web", **STUCK))

    problem = {
        "reason": "ImagePullBackOff",
        "pods": 1,
        "pod": "web-1",
        "container": "web",
        "image": "web:2",
        "message": "no",
    }
    assert run.results.get().pods["problems"] == [problem]
    assert [(plural, query.get("labelSelector", "")) for plural, query in asked] == [
        ("pods", "app=web"),
        ("events", ""),
    ]


def test_words_about_pods_are_withheld_where_they_may_repeat_a_secret(slow, memory, monkeypatch):
    volumes = [{"name": "keys", "secret": {"secretName": "keys"}}]
    answer_lists(memory, monkeypatch, [stuck_pod(volumes=volumes)], [])
    run = start(slow, deployment(), waits_for_rollout=True)

    work_with_clock(run, lambda _: become(memory, "web", **STUCK))

    assert [one["message"] for one in run.results.get().pods["problems"]] == [""]


@pytest.mark.long
def test_without_the_right_to_list_pods_the_report_says_so(slow, memory, monkeypatch):
    answer_lists(memory, monkeypatch, [], [], status=403)
    run = start(slow, deployment(), waits_for_rollout=True)

    work_with_clock(run, lambda _: become(memory, "web", **STUCK))

    assert (run.state, run.results.get().pods["unread"]) == (RunState.FAILED, {"pods": 403})


@pytest.mark.long
def test_pods_that_are_all_ready_are_asked_for_no_events(slow, memory, monkeypatch):
    ready = {"metadata": {"name": "web-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    asked = answer_lists(memory, monkeypatch, [ready], [])
    run = start(slow, deployment(), waits_for_rollout=True)

    work_with_clock(run, lambda _: become(memory, "web", **STUCK))

    assert [plural for plural, _query in asked] == ["pods"]


def test_words_and_images_of_an_object_with_masked_values_are_withheld():
    class Reader:
        def try_send(self, request):
            return Answer(200, {"items": [stuck_pod()]}) if request.path.endswith("pods") else Answer(403, {})

    workload = {"metadata": {"namespace": "shop"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}

    report = read_pod_report(Reader(), workload, is_withholding=True)
    nothing = read_pod_report(Reader(), {"metadata": {"namespace": "shop"}}, is_withholding=False)

    assert [(one.reason, one.image, one.message) for one in report.problems] == [("ImagePullBackOff", "", "")]
    assert report.unread == {"events": 403}
    assert nothing == PodReport()


def test_report_that_a_result_stores_is_no_news_when_nothing_changed():
    waiting = [{**WAITING, "state": {"waiting": {"reason": f"Reason{letter}"}}} for letter in "ABCDEFGHI"]
    pods = [{"metadata": {"name": one["state"]["waiting"]["reason"]}, "status": {"containerStatuses": [one]}}
            for one in waiting]  # fmt: skip

    class Reader:
        def try_send(self, request):
            return Answer(200, {"items": pods if request.path.endswith("pods") else []})

    workload = {"metadata": {"namespace": "shop"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}

    report = read_pod_report(Reader(), workload, is_withholding=False)
    stored = json.loads(json.dumps({"new": 0, "ready": 0, "wanted": 9, **msgspec.to_builtins(report)}))

    assert len(report.problems) == 5
    assert msgspec.convert(stored, PodReport) == report
