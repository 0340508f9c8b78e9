"""Signing in: failures are counted where no restart and no flood of names forgets them."""

from datetime import datetime, timedelta

import pytest

from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.models import AuditEntry, SignInLimit
from applyviz.workflow import buckets, clock, signing
from tests.builders import make_person

pytestmark = pytest.mark.django_db
HOME, ELSEWHERE = "192.0.2.1", "192.0.2.2"


def fail(name, address=HOME, times=1):
    for _ in range(times):
        signing.record_failure(name, address)


def test_five_failures_of_a_name_from_an_address_are_enough():
    fail("alice", times=4)
    assert signing.find_refusal("alice", HOME) is None
    fail("alice")

    assert signing.find_refusal("alice", HOME) is not None
    assert signing.find_refusal("Alice ", HOME) is not None
    assert signing.find_refusal("alice", ELSEWHERE) is None
    assert signing.find_refusal("bob", HOME) is None


def test_limit_ends_after_a_quarter_of_an_hour(move_clock):
    move_clock(datetime.fromisoformat("2026-11-21T08:00:00+00:00"))
    fail("alice", times=5)

    move_clock(datetime.fromisoformat("2026-11-21T08:14:59+00:00"))
    assert signing.find_refusal("alice", HOME) is not None
    move_clock(datetime.fromisoformat("2026-11-21T08:15:01+00:00"))
    assert signing.find_refusal("alice", HOME) is None


def test_name_is_limited_from_many_addresses():
    for n in range(25):
        fail("alice", f"198.51.100.{n}")

    assert signing.find_refusal("alice", "203.0.113.9") is not None


def test_flood_of_names_neither_fills_the_table_nor_forgets():
    fail("alice", times=5)
    names = (f"nobody-{n}" for n in range(10_000))
    now = clock.now()
    for name in names:  # what `record_failure` does, without the history
        for kind, bucket in signing._find_buckets(name, HOME):
            if kind is not LimitKind.ADDRESS:
                SignInLimit.objects.bulk_create(
                    [SignInLimit(kind=kind, bucket=bucket, failures=1, since=now)], ignore_conflicts=True
                )
    fail("mallory", times=50)

    assert signing.find_refusal("alice", HOME) is not None
    assert signing.find_refusal("anybody", HOME) is not None
    assert SignInLimit.objects.count() <= len(LimitKind) * buckets.BUCKETS


def test_success_forgets_own_failures_alone():
    alice = make_person("alice")
    fail("alice", times=4)
    fail("alice", ELSEWHERE, times=5)

    signing.record_success(alice, HOME)

    assert signing.find_refusal("alice", HOME) is None
    assert signing.find_refusal("alice", ELSEWHERE) is not None


def test_history_tells_of_both_and_keeps_no_stray_password():
    alice = make_person("alice")
    fail("alice")
    fail("hunter2-typed-into-the-wrong-field")
    signing.record_success(alice, HOME)

    entries = AuditEntry.objects.order_by("sequence")
    assert [(e.action, e.actor_name, e.detail) for e in entries] == [
        (AuditAction.SIGN_IN_FAILED, "alice", {"name": "alice", "address": HOME}),
        (AuditAction.SIGN_IN_FAILED, "applyviz", {"name": "unknown account", "address": HOME}),
        (AuditAction.SIGNED_IN, "alice", {"address": HOME}),
    ]


def test_proof_is_the_password_and_is_limited_too():
    alice = make_person("alice")

    assert signing.prove(alice, "alice-secret", HOME)
    for _ in range(5):
        assert not signing.prove(alice, "guess", HOME)
    assert not signing.prove(alice, "alice-secret", HOME)


def test_proof_lasts_five_minutes():
    now = clock.now().timestamp()

    assert signing.is_fresh(now)
    assert signing.is_fresh(now - timedelta(minutes=4).total_seconds())
    assert not signing.is_fresh(now - timedelta(minutes=5, seconds=1).total_seconds())
    assert not signing.is_fresh(now + 60)
    assert not signing.is_fresh(None)
