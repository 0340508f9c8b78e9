"""A canceled run of a channel: whole addons are recorded, one that was cut off is neither pruned nor recorded."""

from __future__ import annotations

import pytest

from applyviz.records.enums import Outcome, RunState
from applyviz.workflow import runs
from applyviz.workflow.audit.recorded_runs import check_records
from applyviz.workflow.plans import planner
from tests.channels import RECORDS, pruning, simple
from tests.stories import Team
from tests.workflow.test_addon_attempts import CONFIGS, begin, fail_first, find, names, recorded

pytestmark = pytest.mark.django_db
# What the run writes, in order: each addon's objects, what it prunes, its record.
WRITES = ("dns", "kube-system", "web", "web-2", "web-1", "kube-system")


@pytest.fixture
def team(monkeypatch):
    made = Team().wire_up(monkeypatch)
    made.work(begin(made, simple(web={"prune": pruning()})))
    made.wire.effective.clear()
    return made


def read_records(team):
    annotations = team.live(RECORDS)["metadata"]["annotations"]
    return {name: annotations[f"addons.k8s.io/{name}"] for name in recorded(team)}


def cancel_at(team, run, count):
    """Cancel the run while it sends write number `count`; the server still answers that write."""
    fault, sent = team.wire.fault, []

    def choose(request, number):
        if request.method != "GET" and "dryRun" not in request.query:
            sent.append(request)
            if len(sent) == count:
                runs.cancel_run(run, by=team.bob)
        return fault(request, number) if fault else ""

    team.wire.fault = choose


@pytest.mark.core(1)
@pytest.mark.parametrize("count", range(1, len(WRITES)))
def test_canceled_run_records_the_addons_that_are_whole_and_no_other(team, count):
    before = read_records(team)
    files = simple("2", web={"prune": pruning()})
    run = begin(team, files)
    cancel_at(team, run, count)

    run = team.work(run)

    written = names(team)
    assert (run.state, written) == (RunState.CANCELED, list(WRITES[:count]))
    changed = {name for name, record in read_records(team).items() if record != before[name]}
    assert changed == ({"dns"} if count > 1 else set())
    assert (team.live(f"{CONFIGS}/web-1") is None) == (count > 4)
    left = [r.change.name for r in run.results.select_related("change") if r.outcome == Outcome.SKIPPED]
    assert left == list(WRITES[count:])
    assert check_records() == ()
    again = team.review(files, field_manager="kops")
    planner.make_plan(again.plans.get().pk)
    assert team.work(team.start(again.plans.get())).state == RunState.APPLIED
    assert {name for name, record in read_records(team).items() if record != before[name]} == {"dns", "web"}


def test_addon_whose_attempt_was_canceled_is_not_tried_a_second_time(team):
    before = read_records(team)
    run = begin(team, simple("2", web={"prune": pruning()}))
    fail_first(team, "web")
    cancel_at(team, run, 3)

    run = team.work(run)

    assert (run.state, find(run, "web").outcome, find(run, "web").journal.count()) == (
        RunState.FAILED,
        Outcome.REFUSED,
        1,
    )
    assert read_records(team)["web"] == before["web"]
    assert team.live(f"{CONFIGS}/web-1") is not None
    assert check_records() == ()
