"""The checker can fail: each bug that is planted into the product is found, by the rule that forbids it.

The product runs with the bug, in a process of its own, against the same servers as everywhere in this lane.
"""

from __future__ import annotations

import os
import signal

import pytest

from applyviz.engine.objects.structs import replace
from tests.faults.apiserver import ApiServer
from tests.faults.checker import find_violations
from tests.faults.kill_trials import config_map, wait_until_halted
from tests.faults.mutants import PLANTS

pytestmark = pytest.mark.faults
tried: set[str] = set()


def _work(stage, run, plant, **given):
    tried.add(plant)
    stage.forge.wait(stage.forge.fork("work", run_id=run, plant=plant, **given))


def _rules(stage, *runs, is_settled=True):
    return {violation.rule for violation in find_violations(stage.tell(*runs, is_settled=is_settled))}


def _at_write(stage, action, number=1):
    """Somebody acts just before a write arrives."""
    writes = []

    def before(seen, _):
        writes.extend([seen] if seen.is_write else [])
        if seen.is_write and len(writes) == number:
            action()

    stage.api.before = before


def _answer_writes(stage, phase):
    stage.api.choose = lambda seen, number: phase if seen.is_write else ""


def test_product_without_a_bug_is_found_innocent(stage):
    run = stage.bring()
    stage.forge.wait(stage.forge.fork("work", run_id=run))

    history = stage.tell(run)
    assert find_violations(history) == ()
    assert (history.runs[0].state, sum(e.is_effective for e in history.exchanges)) == ("applied", 3)


def test_question_that_the_database_could_not_answer_is_asked_later(stage):
    """It keeps the time of each commit: afterwards it tells what was durable when a write arrived."""
    run = stage.bring()
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    writes = [e for e in stage.api.exchanges if e.is_write]
    known, arrived = [e.intents for e in writes], [e.received for e in writes]
    for one in writes:
        one.intents = None
    assert find_violations(stage.tell(run)) == ()
    assert ([e.intents for e in writes], stage.asked_later >= 3) == (known, True)

    for one, at in zip(writes, arrived, strict=True):
        one.intents, one.received = None, at - 3600
    stage.ask_what_was_open()
    assert [e.intents for e in writes] == [(), (), ()]


def test_skipped_cas_is_found(stage):
    run = stage.bring()
    _at_write(stage, lambda: stage.mutate("other field"), number=2)
    _work(stage, run, "skip_cas")

    assert {"bound to what was read", "approved exactly"} <= _rules(stage, run)


def test_skipped_epoch_is_found(stage):
    tried.add("skip_epoch")
    run = stage.bring()
    pid = stage.forge.fork("work", run_id=run, plant="skip_epoch", failpoint="run.object@2:stop")
    assert wait_until_halted(pid)
    stage.forge.call("finish", run_id=run)
    os.kill(pid, signal.SIGCONT)
    stage.forge.wait(pid)

    assert "epochs" in _rules(stage, run)


def test_early_acknowledgment_is_found(stage):
    run = stage.bring()
    _work(stage, run, "ack_early")

    assert _rules(stage, run) == {"results are true"}


def test_skipped_comparison_of_effects_is_found(stage):
    run = stage.bring(is_client=True)
    stage.mutate("field")
    _work(stage, run, "skip_effect_check")

    assert "approved effect" in _rules(stage, run)


def test_write_that_goes_out_twice_is_found(stage):
    run = stage.bring()
    _work(stage, run, "send_twice")

    assert {"one journal entry per write", "audit before write"} <= _rules(stage, run)


def test_wrong_order_is_found(stage):
    stage.seed()
    stage.api.act(stage.namespace("shop"))
    label = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n"
    run = stage.forge.call("stage", texts=[label, config_map("new", "shop", a="1")])
    stage.listen()
    _work(stage, run, "wrong_order")

    assert "order kept" in _rules(stage, run)


def test_result_without_reading_back_is_found(stage):
    run = stage.bring()
    _answer_writes(stage, "cut before acting")
    _work(stage, run, "claim_without_reading_back")

    assert "results are true" in _rules(stage, run)


def test_success_that_nobody_looked_at_is_found(stage):
    run = stage.bring()
    _answer_writes(stage, "cut after acting")
    _work(stage, run, "claim_without_reading_back")

    assert "results are true" in _rules(stage, run)


def test_audit_after_the_write_is_found(stage):
    run = stage.bring()
    _work(stage, run, "audit_after_write")

    assert "audit before write" in _rules(stage, run)


@pytest.mark.parametrize("plant", ["reuse_approval", "count_revoked"])
def test_approval_that_does_not_stand_is_found(stage, plant):
    tried.add(plant)
    stage.forge.wait(stage.forge.fork("work", run_id=stage.bring()))
    stage.seed()
    plan = stage.forge.call("plan", texts=[config_map("changed", x="3", y="1")])
    if plant == "count_revoked":
        stage.forge.call("approve_and_revoke", plan_id=plan)
    run = stage.forge.call("start_without_asking", plan_id=plan, plant=plant)
    stage.listen()
    stage.forge.wait(stage.forge.fork("work", run_id=run, plant="pass_consent"))

    assert "approved by quorum" in _rules(stage, run)


def test_self_approval_is_found(stage):
    tried.add("self_approval")
    stage.seed()
    plan = stage.forge.call("plan", texts=[config_map("changed", x="3", y="1")], by="dora")
    run = stage.forge.call("start", plan_id=plan, by="dora", plant="self_approval")
    stage.listen()
    _work(stage, run, "")

    assert "four eyes" in _rules(stage, run)


def test_other_target_is_found(stage):
    stage.seed()
    run = stage.forge.call("stage", texts=[config_map("fresh", x="1")])
    with ApiServer(durable=stage.api.durable) as other:
        stage.forge.call("add_cluster", slug="other", server=other.url)
        _work(stage, run, "other_target")
        history = stage.tell(run)

    found = find_violations(replace(history, exchanges=(*history.exchanges, *other.exchanges)))
    assert "approved target" in {violation.rule for violation in found}


def test_changed_bytes_are_found(stage):
    run = stage.bring()
    _work(stage, run, "change_bytes")

    assert "approved exactly" in _rules(stage, run)


def test_blind_retry_is_found(stage):
    run = stage.bring(is_client=True)
    _at_write(stage, lambda: stage.mutate("field"), number=2)
    _work(stage, run, "retry_blindly")

    assert "approved effect" in _rules(stage, run)


def test_write_before_all_was_checked_is_found(stage):
    run = stage.bring()
    _work(stage, run, "check_nothing_first")

    assert "validated first" in _rules(stage, run)


def test_success_that_is_none_is_found(stage):
    run = stage.bring()
    _answer_writes(stage, "403")
    _work(stage, run, "call_everything_good")

    assert "results are true" in _rules(stage, run)


def test_object_without_an_end_is_found(stage):
    run = stage.bring()
    _work(stage, run, "forget_an_object")

    assert "everything ends" in _rules(stage, run)


def test_rewritten_history_is_found(stage):
    run = stage.bring()
    _work(stage, run, "rewrite_history")

    assert "the chain is intact" in _rules(stage, run)
    stage.forge.call("restore_history")


def test_every_bug_was_planted():
    if len(tried) > 1:  # this process ran the others
        assert set(PLANTS) - {"pass_consent"} <= tried | {"", "pass_consent"}
