"""Tables of lists: the columns and cells that the server prints; the lane control plane asks a real kubectl."""

from datetime import UTC, datetime

import pytest

from applyviz.sandbox.api.columns import TableColumn
from applyviz.sandbox.api.custom_columns import find_first, read_cell
from applyviz.sandbox.api.pod_cells import pod_status, ready_containers, restarts
from applyviz.sandbox.api.workload_columns import WORKLOAD_COLUMNS
from tests.sandbox.conftest import NOW

WIDGET = {
    "metadata": {"annotations": {"example.com/a": "dotted"}},
    "spec": {"parts": [{"name": "a"}, {"name": "b"}], "none": None},
    "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True", "count": 2}]},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.parts[0].name", "a"),
        (".spec.parts[-1].name", "b"),
        (".spec.parts[2].name", None),
        (f".spec.parts[{'1' * 5000}].name", None),
        (".spec.parts[*].name", "a"),
        (".spec.parts.*.name", "a"),
        (".spec['parts'][1].name", "b"),
        (".metadata.annotations.example\\.com/a", "dotted"),
        (".status.conditions[?(@.type=='Ready')].status", "True"),
        ('.status.conditions[?(@.type == "Ready")].status', "True"),
        ('.status.conditions[?(@.type != "Ready")].status', "False"),
        (".status.conditions[?(@.count==2)].type", "Ready"),
        (".status.conditions[?(@.type=='Absent')].status", None),
        (".spec.absent.name", None),
        (".spec.none", None),
        (".spec.parts[0:1]", None),
        ("spec", None),
    ],
)
def test_path_of_a_column_leads_to_its_first_value(path, value):
    assert find_first(WIDGET, path) == value


@pytest.mark.parametrize(
    ("value", "kind", "cell"),
    [
        (3, "integer", 3), (2.5, "integer", 2), (float("inf"), "integer", None), ("3", "integer", None),
        (True, "integer", None), (True, "boolean", True), (1, "boolean", None), ({"a": 1}, "string", '{"a":1}'),
        ("2026-01-02T03:03:05Z", "date", "60s"), ("2026-01-02", "date", "<invalid>"), (None, "string", None),
    ],
)  # fmt: skip
def test_cell_of_a_definition_has_the_type_of_its_column(value, kind, cell):
    assert read_cell(".spec.value", kind)({"spec": {"value": value}}, NOW) == cell


def make_pod(phase="Running", inits=(), containers=(), **more):
    return {
        "metadata": {"name": "p", **more.pop("metadata", {})},
        "spec": {
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}] if inits else [],
            "containers": [{"name": "a"}, {"name": "b"}],
        },
        "status": {"phase": phase, "initContainerStatuses": inits, "containerStatuses": containers, **more},
    }


RUNS = {"ready": True, "state": {"running": {}}}
ENDED = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
FAILED = {"state": {"terminated": {"exitCode": 3}}}
KILLED = {"state": {"terminated": {"exitCode": 137, "signal": 9}}}
WAITS = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
STARTED = {"name": "s", "started": True, "ready": True, "state": {"running": {}}}
READY = {"type": "Ready", "status": "True"}


@pytest.mark.parametrize(
    ("pod", "ready", "word"),
    [
        (make_pod("Pending"), "0/2", "Pending"),
        (make_pod(containers=[RUNS, RUNS]), "2/2", "Running"),
        (make_pod(containers=[RUNS, WAITS]), "1/2", "CrashLoopBackOff"),
        (make_pod(containers=[FAILED, RUNS]), "1/2", "ExitCode:3"),
        (make_pod(containers=[KILLED, RUNS]), "1/2", "Signal:9"),
        (make_pod(containers=[ENDED, RUNS], conditions=[READY]), "1/2", "Running"),
        (make_pod(containers=[ENDED, RUNS]), "1/2", "NotReady"),
        (make_pod(containers=[ENDED, FAILED]), "0/2", "ExitCode:3"),
        (make_pod("Succeeded", containers=[ENDED, ENDED]), "0/2", "Completed"),
        (make_pod("Failed", reason="Evicted"), "0/2", "Evicted"),
        (make_pod(metadata={"deletionTimestamp": "x"}), "0/2", "Terminating"),
        (make_pod(metadata={"deletionTimestamp": "x"}, reason="NodeLost"), "0/2", "Unknown"),
        (
            make_pod("Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
            "0/2",
            "SchedulingGated",
        ),
        (make_pod("Pending", inits=[{"name": "i", "state": {"running": {}}}]), "0/3", "Init:0/2"),
        (make_pod("Pending", inits=[{"name": "i", **FAILED}]), "0/3", "Init:ExitCode:3"),
        (make_pod("Pending", inits=[{"name": "i", **WAITS}]), "0/3", "Init:CrashLoopBackOff"),
        (make_pod(inits=[{"name": "i", **ENDED}, STARTED], containers=[RUNS, RUNS]), "3/3", "Running"),
    ],
)
def test_pod_has_the_word_that_kubectl_shows(pod, ready, word):
    assert (ready_containers(pod, NOW), pod_status(pod, NOW)) == (ready, word)


def test_restarts_say_how_long_ago_the_last_one_ended():
    ended = {"restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-02T03:03:05Z"}}, **RUNS}

    assert restarts(make_pod(containers=[ended, {"restartCount": 1, **RUNS}]), NOW) == "3 (60s ago)"
    assert restarts(make_pod(containers=[RUNS]), NOW) == "0"


def cells(plural: str, obj: dict, now: datetime = NOW) -> dict[str, object]:
    columns: tuple[TableColumn, ...] = tuple(WORKLOAD_COLUMNS[plural])
    return {column.name: column.read({"metadata": {"name": "x"}, **obj}, now) for column in columns}


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({}, {}, ("Running", "0/1", "")),
        ({"parallelism": 3}, {"succeeded": 1}, ("Running", "1/1 of 3", "")),
        ({"completions": 4}, {"startTime": "2026-01-02T03:03:05Z"}, ("Running", "0/4", "60s")),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": "2026-01-02T01:00:00Z",
                "completionTime": "2026-01-02T01:00:09Z",
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
            },
            ("Complete", "1/1", "9s"),
        ),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ("Suspended", "0/1", "")),
    ],
)
def test_job_shows_status_completions_and_duration(spec, status, shown):
    found = cells("jobs", {"spec": spec, "status": status})

    assert (found["Status"], found["Completions"], found["Duration"]) == shown


def test_event_of_the_newer_api_is_shown_like_one_of_the_older():
    event = {
        "eventTime": datetime(2026, 1, 2, 3, 3, 55, tzinfo=UTC).isoformat(),
        "regarding": {"kind": "Pod", "name": "p"},
        "note": "said",
        "reportingController": "c",
    }
    found = cells("events", event)

    assert [found[n] for n in ("Last Seen", "Object", "Source", "Message", "Count")] == ["10s", "pod/p", "c", "said", 1]
