"""`scripts/gate.py` as a pipeline runs it, against a server of its own: what people do there decides how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import free_port

pytestmark = pytest.mark.start

ROOT = Path(__file__).parents[2]
START_SECONDS, SECONDS = 240.0, 120.0
# What people do there, by the use cases, in one process that takes a statement a line.
HANDS = """
import sys, django; django.setup()
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from applyviz.records.enums import Role, TokenScope
from applyviz.records.models import ApiToken, Cluster, Grant, Review
from applyviz.workflow.approvals import approving as approvals
from applyviz.workflow.clusters import registration as clusters
from applyviz.workflow.plans import reviews
from applyviz.workflow.people import tokens
clusters.create_sandbox(slug="gate", name="Gate")
people = {name: User.objects.create_user(name) for name in ("ann", "ben")}
everywhere = {"cluster_pattern": "*", "namespace_pattern": "*", "since": timezone.now()}
for name, role in (("ann", Role.AUTHOR), ("ann", Role.OPERATOR), ("ben", Role.APPROVER)):
    Grant.objects.create(person=people[name], role=role, **everywhere)
def token(scope=TokenScope.APPLY):
    return tokens.make_token(by=people["ann"], account=people["ann"], name="ci", scope=scope, days=7)[1]
def short_token(seconds):
    text, now = token(TokenScope.PLAN), timezone.now()
    kept = ApiToken.objects.get(token_hash=tokens._hash(text))
    text = text[:4] + text[:3:-1]
    kept.pk, kept.token_hash, kept.expires_at = None, tokens._hash(text), now + timedelta(seconds=seconds)
    kept.scope = TokenScope.APPLY
    kept.save(force_insert=True)
    return text
def plan(number):
    return Review.objects.get(number=number).latest_plan
def approve(number):
    approvals.approve_plan(plan(number), by=people["ben"], digest=plan(number).digest)
for line in sys.stdin:
    found = eval(line)
    print(found if isinstance(found, str) else "done", flush=True)
"""


class Installation:
    """A server that can go away and come back, and what people do there."""

    def __init__(self, home: Path) -> None:
        self.home, self.port = home, free_port()
        kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
        self.environment = kept | {"APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings"}
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port), "--no-demo"]
        self.server = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        watch = threading.Timer(START_SECONDS, self.server.kill)
        watch.start()
        assert self.server.stdout is not None
        assert any("Ctrl-C stops everything" in line for line in self.server.stdout)
        watch.cancel()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.server.send_signal(how)
        self.server.communicate(timeout=SECONDS)

    def open_hands(self) -> None:
        given = subprocess.PIPE
        self.hands = subprocess.Popen(
            [sys.executable, "-c", HANDS], cwd=ROOT, env=self.environment, stdin=given, stdout=given, text=True
        )

    def do(self, what: str) -> str:
        """Have something done there; what it gave."""
        assert self.hands.stdin is not None
        assert self.hands.stdout is not None
        self.hands.stdin.write(what + "\n")
        self.hands.stdin.flush()
        said = self.hands.stdout.readline().strip()
        assert said, f"{what} failed"
        return said


class Gate:
    """One `gate.py` at work; its lines are read as it says them."""

    def __init__(self, at: Installation, token: str, *words: str, title: str = "Change") -> None:
        command = [sys.executable, "scripts/gate.py", "--url", at.url, "--cluster", "gate", "--title", title, *words]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "APPLYVIZ_TOKEN": token},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.watch = threading.Timer(SECONDS, self.process.kill)
        self.watch.start()
        self.said = ""

    def wait_for(self, text: str) -> int:
        """Read until a line holds this; the number of its review."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if text in line:
                return int(self.said.partition("of review ")[2].partition(":")[0] or 0)
        raise AssertionError(f"it ended with {self.process.wait()}: {self.said}")

    def end(self) -> tuple[int, str]:
        """The exit status and everything that it said."""
        self.said += self.process.communicate()[0]
        self.watch.cancel()
        return self.process.returncode, self.said


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    found = Installation(tmp_path_factory.mktemp("home"))
    found.start()
    found.open_hands()
    try:
        yield found
    finally:
        found.hands.communicate(timeout=SECONDS)
        found.stop()


@pytest.fixture(scope="module")
def token(installation) -> str:
    text: str = installation.do("token()")
    return text


@pytest.fixture
def manifest(tmp_path):
    def write(name: str, value: str = "1") -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '{value}'}}\n")
        return str(path)

    return write


SHOWN = "Digest "


def test_what_people_approved_is_applied_and_said(installation, token, manifest):
    gate = Gate(installation, token, manifest("good"))
    number = gate.wait_for(SHOWN)

    installation.do(f"approve({number})")

    status, said = gate.end()
    assert (status, "+ create ConfigMap default/good" in said, "  applied  ConfigMap good" in said) == (
        0,
        True,
        True,
    ), said
    again = Gate(installation, token, manifest("good"))
    assert again.end()[0] == 0
    assert "nothing to apply" in again.said


def test_time_that_is_over_is_no_refusal_and_a_later_job_goes_on(installation, token, manifest):
    asks = Gate(installation, token, manifest("later"), "--plan-only")
    status, said = asks.end()
    number = said.partition("of review ")[2].partition(":")[0]

    waits = Gate(installation, token, "--review", number, "--timeout", "1")

    assert (status, waits.end()) == (2, (2, waits.said))
    assert "timed out; it is still: needs approval" in waits.said
    installation.do(f"approve({number})")
    assert Gate(installation, token, "--review", number).end()[0] == 0


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        (
            "approvals.request_changes(plan({0}), by=people['ben'], digest=plan({0}).digest, note='no')",
            "ben requests changes",
        ),
        ("reviews.close_review(Review.objects.get(number={0}), by=people['ann'])", "closed"),
    ],
)
def test_what_people_refuse_ends_at_once(installation, token, manifest, deed, said):
    gate = Gate(installation, token, manifest("refused"))
    number = gate.wait_for(SHOWN)

    installation.do(deed.format(number))

    status, text = gate.end()
    assert (status, said in text) == (1, True), text


def test_token_that_ends_while_the_gate_waits_ends_it(installation, manifest):
    text = installation.do("short_token(15)")
    gate = Gate(installation, text, manifest("expired"))
    number = gate.wait_for(SHOWN)
    time.sleep(15)

    installation.do(f"approve({number})")  # news: what is asked next is refused

    status, said = gate.end()
    assert (status, said.splitlines()[-1]) == (3, "there is no such token, or it has ended")
    assert installation.do(f"str(hasattr(plan({number}), 'run'))") == "False"


def test_what_cannot_be_asked_is_neither_applied_nor_refused(installation, token, manifest, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("kind: ConfigMap\n  bad: [\n")
    reader = installation.do("token(TokenScope.READ)")

    found = [
        Gate(installation, token, str(bad)),
        Gate(installation, token, str(tmp_path / "nowhere.yaml")),
        Gate(installation, "avz_wrong", manifest("wrong")),
        Gate(installation, reader, manifest("reader")),
        Gate(installation, token, manifest("wrong"), "--url", "http://applyviz.example"),
        Gate(installation, token, manifest("wrong"), "--cluster", "elsewhere"),
    ]

    assert [gate.end()[0] for gate in found] == [1, 3, 3, 3, 3, 1]
    assert "bad.yaml:2" in found[0].said


def test_server_that_goes_away_and_comes_back_is_waited_for(installation, token, manifest):
    gate = Gate(installation, token, manifest("patient"))
    number = gate.wait_for(SHOWN)

    installation.stop(signal.SIGKILL)
    time.sleep(12)  # longer than an address that never answered is asked
    assert gate.process.poll() is None
    installation.start()
    installation.do(f"approve({number})")

    status, said = gate.end()
    assert (status, "applied" in said) == (0, True), said
