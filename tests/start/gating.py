"""`scripts/gate.py` as a pipeline runs it, and a server of its own where people act by the use cases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
START_SECONDS, SECONDS = 240.0, 120.0
# What people do there, by the use cases, in one process that takes a statement a line.
HANDS = """
import sys, django; django.setup()
from django.contrib.auth.models import User
from django.utils import timezone
from applyviz.records import full_text, triggers
from applyviz.records.enums import Role, TokenScope
from applyviz.records.models import ApiToken, Cluster, Grant, Review
from applyviz.workflow.approvals import approving as approvals
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.clusters import registration as clusters
from applyviz.workflow.plans import reviews
from applyviz.workflow.people import tokens
clusters.create_sandbox(slug="gate", name="Gate")
people = {name: User.objects.create_user(name) for name in ("ann", "ben")}
everywhere = {"cluster_pattern": "*", "namespace_pattern": "*", "since": timezone.now()}
for name, role in (("ann", Role.AUTHOR), ("ann", Role.OPERATOR), ("ben", Role.APPROVER)):
    grant = Grant(person=people[name], role=role, **everywhere)
    row_macs.vouch(grant, None)
    grant.save()
def token(scope=TokenScope.APPLY):
    return tokens.make_token(by=people["ann"], account=people["ann"], name="ci", scope=scope, days=7)[1]
def end_token(text):
    triggers.lift("default")
    ApiToken.objects.filter(hint=tokens._hint(text)).update(expires_at=timezone.now())
    full_text.install("default")
    triggers.install("default")
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

    def close(self) -> None:
        """End the hands and the server."""
        self.hands.communicate(timeout=SECONDS)
        self.stop()

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
