"""The second attempt of an addon: what failed is tried once more before the addon is pruned and recorded."""

from __future__ import annotations

import pytest
import yaml

from applyviz.records.enums import AuditAction, Outcome, RunState
from applyviz.records.models import ApplyRun, AuditEntry, ObjectResult
from applyviz.workflow import runs
from applyviz.workflow.audit.recorded_runs import check_records
from applyviz.workflow.plans import planner
from tests.channels import RECORDS, addon, channel, config, pruning, simple
from tests.stories import Killed, let_lease_run_out, secret

pytestmark = pytest.mark.django_db
CONFIGS = "/api/v1/namespaces/kube-system/configmaps"


def begin(team, files, *, carries_on=True):
    """A run of a channel that no worker has picked up yet."""
    review = team.review(files, field_manager="kops")
    planner.make_plan(review.plans.get().pk)
    run = team.start(review.plans.get())
    ApplyRun.objects.filter(pk=run.pk).update(rules={**run.rules, "carries_on": carries_on})
    return ApplyRun.objects.get(pk=run.pk)


def fail_first(team, *names, fault="refuse", times=1):
    """Let the first requests of objects of these names fail."""
    met = dict.fromkeys(names, 0)

    def choose(request, number):
        name = request.ref.name
        if name not in met or request.method == "DELETE":
            return ""
        met[name] += 1
        return fault if met[name] <= times else ""

    team.wire.fault = choose
    return met


def names(team):
    """The objects that were written, in order."""
    return [request.ref.name for request in team.wire.effective]


def recorded(team):
    return {name.rpartition("/")[2] for name in team.live(RECORDS)["metadata"].get("annotations", {})}


def told(run, name):
    """The outcomes of an object in the audit log, each with the attempt of its addon."""
    entries = AuditEntry.objects.filter(chain=run.number, action=AuditAction.OBJECT_RESULT, name=name)
    return [(e.detail["outcome"], e.detail.get("addon attempt", 1)) for e in entries.order_by("sequence")]


def find(run, name):
    return run.results.select_related("change").get(change__name=name)


@pytest.mark.core(1)
@pytest.mark.parametrize("carries_on", [True, False], ids=["goes on", "stops"])
@pytest.mark.parametrize("fault", ["refuse", "not found", "refuse connection"])
def test_object_that_failed_once_is_tried_again_before_its_addon_is_pruned_and_recorded(team, fault, carries_on):
    team.work(begin(team, simple(web={"prune": pruning()})))
    team.wire.effective.clear()
    times = 6 if fault == "refuse connection" else 1  # the requests of one attempt
    fail_first(team, "web", fault=fault, times=times)

    run = team.work(begin(team, simple("2", web={"prune": pruning()}), carries_on=carries_on))

    assert (run.state, run.error) == (RunState.APPLIED, "")
    assert names(team)[2:] in (["web-2", "web", "web-1", "kube-system"], ["web", "web-2", "web-1", "kube-system"])
    assert [r.method for r in team.wire.effective][-2:] == ["DELETE", "PATCH"]
    web = find(run, "web")
    assert (web.outcome, web.addon_attempt, web.journal.count()) == (Outcome.VERIFIED, 2, times + 1)
    assert {r.addon_attempt for r in run.results.exclude(pk=web.pk)} == {1}
    first = {"refuse": "refused", "not found": "stale", "refuse connection": "failed"}[fault]
    assert told(run, "web") == [(first, 1), ("applied", 2)]
    assert check_records() == ()


@pytest.mark.long
@pytest.mark.parametrize("carries_on", [True, False], ids=["goes on", "stops"])
def test_addon_whose_second_attempt_fails_too_is_neither_pruned_nor_recorded(team, carries_on):
    team.work(begin(team, simple(web={"prune": pruning()})))
    before = team.live(RECORDS)["metadata"]["annotations"]["addons.k8s.io/web"]
    fail_first(team, "web", times=9)

    run = team.work(begin(team, simple("2", web={"prune": pruning()}), carries_on=carries_on))

    assert (run.state, "web was refused" in find(run, "web-1").detail) == (RunState.FAILED, carries_on)
    assert told(run, "web") == [("refused", 1), ("refused", 2)]
    assert (find(run, "web").addon_attempt, find(run, "web").journal.count()) == (2, 2)
    assert team.live(f"{CONFIGS}/web-1") is not None
    assert team.live(RECORDS)["metadata"]["annotations"]["addons.k8s.io/web"] == before
    assert check_records() == ()


@pytest.mark.long
def test_objects_left_out_because_of_the_failed_one_are_tried_with_it(team):
    space = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dns"}})
    manifest = space + "---\n" + config("cache").replace("kube-system", "dns") + "---\n" + config("dns")
    fail_first(team, "dns")

    run = team.work(begin(team, channel({"dns": manifest}, [addon("dns", manifest)])))

    assert (run.state, run.error, recorded(team)) == (RunState.APPLIED, "", {"dns"})
    assert told(run, "cache") == [("left-out", 1), ("applied", 2)]
    assert names(team)[-3:] in (["dns", "cache", "kube-system"], ["cache", "dns", "kube-system"])
    assert check_records() == ()


@pytest.mark.long
def test_object_of_no_addon_is_not_tried_again(team):
    fail_first(team, "plain")

    run = team.work(begin(team, {**simple(), "plain.yaml": config("plain")}))

    assert (run.state, find(run, "plain").journal.count()) == (RunState.FAILED, 1)
    assert recorded(team) == {"dns", "web"}


def test_secret_that_is_compared_with_live_is_not_tried_again(team):
    def files(value):
        manifest = secret("dns", key=value).replace("name: dns", "name: dns\n  namespace: kube-system")
        return channel({"dns": manifest}, [addon("dns", manifest)])

    team.work(begin(team, files("1")))
    fail_first(team, "dns")

    run = team.work(begin(team, files("2")))

    assert (run.state, find(run, "dns").journal.count(), told(run, "dns")) == (RunState.FAILED, 1, [("refused", 1)])


@pytest.mark.long
def test_effect_that_moved_between_the_attempts_is_not_written(team):
    run = begin(team, simple())

    def choose(request, number):
        if request.ref.name == "dns" and request.method != "DELETE" and number == 1:
            body = {"data": {"value": "by hand"}, "metadata": {"name": "dns"}}
            team.wire.fault = lambda request, number: ""
            team.send(type(request)("POST", CONFIGS, {"fieldManager": "hand"}, "application/json", body))
            return "refuse"
        return ""

    team.wire.fault = choose
    run = team.work(run)

    assert (run.state, told(run, "dns")) == (RunState.STALE, [("refused", 1), ("stale", 2)])
    assert team.live(f"{CONFIGS}/dns")["data"] == {"value": "by hand"}
    assert recorded(team) == {"web"}


@pytest.mark.core(1)
@pytest.mark.parametrize("carries_on", [True, False], ids=["goes on", "stops"])
@pytest.mark.parametrize("attempt", [1, 2])
def test_worker_that_takes_over_tries_an_addon_twice_in_all(team, attempt, carries_on):
    run = begin(team, simple(), carries_on=carries_on)
    met = fail_first(team, "web", times=1)
    choose = team.wire.fault

    def kill(request, number):
        found = choose(request, number)
        if request.ref.name == "web" and met["web"] == attempt:
            raise Killed
        return found

    team.wire.fault = kill
    with pytest.raises(Killed):
        team.work(run)
    team.wire.fault = choose
    let_lease_run_out(run)
    run = team.work(ApplyRun.objects.get(pk=run.pk))

    assert (run.state, run.error, recorded(team)) == (RunState.APPLIED, "", {"dns", "web"})
    assert names(team).count("web") == 1
    assert check_records() == ()


@pytest.mark.long
def test_person_who_retries_the_run_begins_both_attempts_anew(team):
    run = begin(team, simple())
    fail_first(team, "web", times=3)
    failed = team.work(run)
    assert failed.state == RunState.FAILED

    runs.retry_run(runs.get_run(failed.number, for_user=team.bob), by=team.bob, attempt=failed.attempt)
    run = team.work(ApplyRun.objects.get(pk=run.pk))

    assert find(run, "web").outcome == Outcome.VERIFIED
    assert told(run, "web") == [("refused", 1), ("refused", 2), ("refused", 1), ("applied", 2)]
    assert ObjectResult.objects.get(pk=find(run, "web").pk).addon_attempt == 2
