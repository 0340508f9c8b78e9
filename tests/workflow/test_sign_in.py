"""Signing in: delays after failures, counted where no restart and no flood of names forgets them."""

from datetime import datetime, timedelta

import pytest

from applyviz import clock
from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.models import AuditEntry, SignInLimit
from applyviz.workflow.foundation import rate_limit
from applyviz.workflow.foundation.errors import TooOftenError
from applyviz.workflow.people import sign_in
from tests import moments
from tests.builders import make_person

pytestmark = pytest.mark.django_db
HOME, ELSEWHERE = "192.0.2.1", "192.0.2.2"


def fail(name, address=HOME):
    assert sign_in.begin_attempt(name, address) is None
    sign_in.record_failure(name, address)


def test_delay_is_of_the_name_at_the_address():
    fail("alice")

    assert sign_in.begin_attempt("Alice ", HOME) is not None
    assert sign_in.begin_attempt("alice", ELSEWHERE) is None
    assert sign_in.begin_attempt("bob", HOME) is None


def test_failures_are_forgotten_after_a_quarter_of_an_hour(move_clock):
    start = datetime.fromisoformat("2026-11-21T08:00:00+00:00")
    for n in range(5):
        move_clock(start + timedelta(minutes=n))
        fail("alice")

    move_clock(start + timedelta(minutes=4, seconds=15))
    assert sign_in.begin_attempt("alice", HOME) == start + timedelta(minutes=4, seconds=16)
    move_clock(start + timedelta(minutes=20))
    fail("alice")
    assert sign_in.begin_attempt("alice", HOME) == start + timedelta(minutes=20, seconds=1)


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 1), (2, 2), (5, 16), (6, 30), (7, 30), (10**9, 30)])
def test_delay_ends_at_thirty_seconds(failures, seconds):
    assert sign_in.find_delay(failures) == timedelta(seconds=seconds)


@pytest.mark.long
def test_flood_of_names_neither_fills_the_table_nor_forgets():
    moments.move_to(now := clock.now(), tick=False)
    fail("alice")
    for n in range(10_000):  # what `begin_attempt` writes, without asking
        bucket = sign_in._pair(f"nobody-{n}", HOME)
        SignInLimit.objects.bulk_create(
            [SignInLimit(kind=LimitKind.PAIR, bucket=bucket, failures=1, since=now)], ignore_conflicts=True
        )

    assert sign_in.begin_attempt("alice", HOME) is not None
    assert SignInLimit.objects.count() <= len(LimitKind) * rate_limit.BUCKETS


def test_success_forgets_own_failures_alone():
    alice = make_person("alice")
    fail("alice")
    fail("alice", ELSEWHERE)

    sign_in.record_success(alice, HOME)

    assert sign_in.begin_attempt("alice", HOME) is None
    assert sign_in.begin_attempt("alice", ELSEWHERE) is not None


def test_history_tells_of_both_and_keeps_no_stray_password():
    alice = make_person("alice")
    fail("alice")
    fail("hunter2-typed-into-the-wrong-field")
    sign_in.record_success(alice, HOME)

    entries = AuditEntry.objects.order_by("sequence")
    assert [(e.action, e.actor_name, e.detail) for e in entries] == [
        (AuditAction.SIGN_IN_FAILED, "alice", {"name": "alice", "address": HOME}),
        (AuditAction.SIGN_IN_FAILED, "applyviz", {"name": "unknown account", "address": HOME}),
        (AuditAction.SIGNED_IN, "alice", {"address": HOME}),
    ]


def test_history_tells_once_that_the_longest_delay_is_reached(move_clock):
    make_person("alice")
    for n in range(9):
        move_clock(datetime.fromisoformat("2026-11-21T08:00:00+00:00") + timedelta(minutes=n))
        fail("alice")

    (told,) = AuditEntry.objects.filter(action=AuditAction.SIGN_IN_REFUSED)
    assert told.detail == {"name": "alice", "address": HOME, "delay in seconds": 30}


def test_proof_is_the_password_and_is_delayed_too():
    alice = make_person("alice")

    assert sign_in.reauthenticate(alice, "alice-secret", HOME, session="a") is sign_in.Proof.RIGHT
    assert sign_in.reauthenticate(alice, "guess", HOME, session="a") is sign_in.Proof.WRONG
    with pytest.raises(TooOftenError, match="Wait 1 s"):
        sign_in.reauthenticate(alice, "alice-secret", HOME, session="a")
    assert sign_in.reauthenticate(alice, "alice-secret", HOME, session="another") is sign_in.Proof.RIGHT
    assert sign_in.begin_attempt("alice", HOME) is None


def test_proof_lasts_five_minutes():
    now = clock.now().timestamp()

    assert sign_in.is_fresh(now)
    assert sign_in.is_fresh(now - timedelta(minutes=4).total_seconds())
    assert not sign_in.is_fresh(now - timedelta(minutes=5, seconds=1).total_seconds())
    assert not sign_in.is_fresh(now + 60)
    assert not sign_in.is_fresh(None)
