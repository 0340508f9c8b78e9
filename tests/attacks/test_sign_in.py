"""Guessing passwords is slow, and nobody locks anybody else out, neither an account nor a session (N8)."""

from __future__ import annotations

from datetime import datetime, timedelta
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry
from applyviz.workflow.people import sign_in as signing
from tests import moments
from tests.builders import make_person

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"
START = datetime.fromisoformat("2026-11-21T08:00:00+00:00")
CORRECT = "alice-secret"


class Hands:
    """Somebody at a browser, at a time that they choose."""

    def __init__(self) -> None:
        moments.move_to(START, tick=False)

    def wait(self, seconds: float) -> None:
        moments.move_to(clock.now() + timedelta(seconds=seconds), tick=False)

    def sign_in(self, password: str, name: str = "alice", address: str = HOME) -> tuple[int, int]:
        """The status, and for how many seconds it asks to wait."""
        answer = Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password})
        return answer.status_code, int(answer.get("Retry-After", 0))


@pytest.fixture
def alice(db: None) -> User:
    return make_person("alice", Role.APPROVER)


@pytest.fixture
def hands(alice: User) -> Hands:
    return Hands()


@pytest.fixture
def browser(hands: Hands) -> Client:
    """Alice, signed in at her usual address."""
    found = Client(REMOTE_ADDR=HOME)
    assert found.post("/login/", {"username": "alice", "password": CORRECT}).status_code == 302
    return found


def test_delay_doubles_from_one_second_to_thirty(hands: Hands) -> None:
    waits = []
    for _ in range(8):
        assert hands.sign_in("guess") == (200, 0)
        status, seconds = hands.sign_in("guess")
        assert status == 429
        waits.append(seconds)
        hands.wait(seconds)

    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_right_password_is_not_looked_at_before_the_delay_is_over(hands: Hands) -> None:
    hands.sign_in("guess")
    with patch.object(User, "check_password", side_effect=AssertionError("it was looked at")):
        assert hands.sign_in(CORRECT) == (429, 1)

    hands.wait(1)

    assert hands.sign_in(CORRECT)[0] == 302


@pytest.mark.parametrize("times", [300, pytest.param(1_000, marks=pytest.mark.long)])
def test_nobody_locks_anybody_out(hands: Hands, times: int) -> None:
    """Wrong passwords from a hundred addresses, and from Alice's own as other people."""
    assert times // 5 > signing.MOST_OF_ADDRESS
    for n in range(times):
        signing.begin_attempt("alice", f"203.0.113.{n % 100}")
        signing.record_failure("alice", f"203.0.113.{n % 100}")
        hands.wait(0.1)
    for n in range(times // 5):
        signing.begin_attempt(f"nobody-{n}", HOME)

    assert hands.sign_in(CORRECT)[0] == 302


def test_very_many_failures_of_one_address_are_paced_and_known_people_are_not(hands: Hands, browser: Client) -> None:
    make_person("bob", Role.VIEWER)
    for n in range(signing.MOST_OF_ADDRESS):
        signing.record_failure(f"nobody-{n}", HOME)

    answers = [hands.sign_in("guess", name=f"victim-{n}") for n in range(5)]

    assert answers == [(200, 0), (429, 1), (429, 1), (429, 1), (429, 1)]
    assert hands.sign_in(CORRECT)[0] == 302, "Alice signed in from here before"
    hands.wait(1)
    assert hands.sign_in("bob-secret", name="bob")[0] == 302, "a second at most, for everybody else"


def test_attempts_at_one_moment_are_not_all_looked_at(hands: Hands) -> None:
    """Each is counted before its password is looked at, not after."""
    let_in = [signing.begin_attempt("alice", HOME) is None for _ in range(50)]

    assert let_in == [True, *[False] * 49]


def test_success_forgets_the_failures_of_this_address_alone(hands: Hands) -> None:
    for _ in range(4):
        hands.sign_in("guess", address=ELSEWHERE)
        hands.wait(30)
    hands.sign_in("guess")
    hands.wait(1)
    assert hands.sign_in(CORRECT)[0] == 302

    assert (hands.sign_in("guess")[0], hands.sign_in("guess")) == (200, (429, 1))
    assert (hands.sign_in("guess", address=ELSEWHERE)[0], hands.sign_in("guess", address=ELSEWHERE)) == (200, (429, 16))


def test_ten_wrong_proofs_end_that_session_and_no_other(hands: Hands, browser: Client) -> None:
    other = Client(REMOTE_ADDR=HOME)
    other.post("/login/", {"username": "alice", "password": CORRECT})
    statuses = []
    for _ in range(signing.PROOFS_OF_SESSION):
        statuses.append(browser.post(reverse("reauthenticate"), {"password": "guess"}).status_code)
        hands.wait(30)

    assert statuses == [*[422] * 9, 403]
    assert browser.get("/").status_code == 302, "this session is over"
    assert other.get("/").status_code == 200, "the other one is not"
    assert hands.sign_in(CORRECT)[0] == 302, "and the account is open"
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions.count(AuditAction.REAUTHENTICATION_FAILED) == signing.PROOFS_OF_SESSION
    assert actions.count(AuditAction.SESSION_ENDED) == 1
    assert AuditAction.SIGN_IN_FAILED not in actions, "a wrong proof is no failed sign-in"


def test_proofs_too_early_are_refused_with_the_time_to_wait(hands: Hands, browser: Client) -> None:
    browser.post(reverse("reauthenticate"), {"password": "guess"})

    early = browser.post(reverse("reauthenticate"), {"password": CORRECT})
    hands.wait(1)

    assert (early.status_code, early["Retry-After"]) == (429, "1")
    assert browser.post(reverse("reauthenticate"), {"password": CORRECT}).status_code == 302


def test_new_password_ends_every_other_session(hands: Hands, browser: Client, alice: User) -> None:
    other = Client(REMOTE_ADDR=ELSEWHERE)
    other.post("/login/", {"username": "alice", "password": CORRECT})
    new = {"new": "a-much-longer-secret", "again": "a-much-longer-secret"}

    wrong = browser.post(reverse("change-password"), {"password": "guess", **new})
    hands.wait(1)
    weak = browser.post(reverse("change-password"), {"password": CORRECT, "new": "12345678", "again": "12345678"})
    done = browser.post(reverse("change-password"), {"password": CORRECT, **new})

    assert (wrong.status_code, weak.status_code, done["Location"]) == (422, 422, reverse("account"))
    assert (browser.get("/").status_code, other.get("/").status_code) == (200, 302)
    assert (hands.sign_in(CORRECT)[0], hands.sign_in("a-much-longer-secret", address=ELSEWHERE)[0]) == (200, 302)
    entry = AuditEntry.objects.get(action=AuditAction.PASSWORD_CHANGED)
    assert (entry.actor_name, entry.detail["sessions ended"]) == ("alice", 1)


def test_own_other_sessions_are_ended_and_nobody_elses(hands: Hands, browser: Client) -> None:
    make_person("bob", Role.VIEWER)
    other, bob = Client(REMOTE_ADDR=ELSEWHERE), Client()
    other.post("/login/", {"username": "alice", "password": CORRECT})
    bob.post("/login/", {"username": "bob", "password": "bob-secret"})
    shown = browser.get(reverse("account")).content.decode()

    browser.post(reverse("end-sessions"))

    assert (HOME in shown, ELSEWHERE in shown) == (True, True)
    assert [one.get("/").status_code for one in (browser, other, bob)] == [200, 302, 200]
    assert AuditEntry.objects.filter(action=AuditAction.SESSION_ENDED).get().detail == {"others": 1}
