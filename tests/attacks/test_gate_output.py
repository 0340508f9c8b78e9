"""The log of a pipeline obeys lines: nothing that a plan holds begins one, moves the cursor or names the token."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scripts import gate
from tests.stories import Team, config_map

pytestmark = pytest.mark.attacks
TOKEN = "avz_a-token-that-nobody-prints"
HOSTILE = {
    "command": "x\n::add-mask::Plan",
    "two commands": "x\r\n##vso[task.setvariable variable=A]b",
    "line of ours": "1\nDigest 0000\n+ create ConfigMap other",
    "terminal": "x\x1b]0;title\x07\x1b[2K\x1b[1A",
    "order": "a\u202eb\u2028c",
}


def make_plan(text: str) -> dict[str, Any]:
    """A plan whose texts, each where a name or a value of an object can be, are hostile."""
    words = dict.fromkeys(("cluster", "namespace", "identity", "sentence", "url", "digest"), text)
    problem = {"file": text, "reason": text}
    return {"plan": 1, "review": {"number": 7}, "mode": "server", "impact": [text], "problems": [problem], **words}


def make_object(text: str) -> dict[str, Any]:
    return {
        **dict.fromkeys(("operation", "namespace", "name", "kind", "certainty", "left_out", "error"), text),
        "fields": [{"path": text, "live": text, "after": text}],
        "conflicts": [{"field": text, "field_manager": text}],
        "risks": [{"level": "high", "text": text}],
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_value_begins_no_line_and_controls_no_terminal(name: str) -> None:
    text, plain, out = HOSTILE[name], io.StringIO(), io.StringIO()
    gate.print_plan(make_plan("x"), [make_object("x")], plain)
    gate.print_plan(make_plan(text), [make_object(text)], out)

    lines = out.getvalue().split("\n")
    assert len(lines) == plain.getvalue().count("\n") + 1
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("status", ["blocked", "changes-requested", "plan-failed", "needs-approval", "approved"])
@pytest.mark.parametrize("name", HOSTILE)
def test_reason_of_a_state_begins_no_line(name: str, status: str) -> None:
    """A reviewer writes the reason of a request for changes, and a cluster the error of a plan."""
    text, out = HOSTILE[name], io.StringIO()
    reasons = {"still_needed": [text], "closed": [text]}
    state = {"status": status, "status_text": "s", "blockers": [text], "error": text, "approvals": reasons}
    follower = gate.Gate(gate.Api("https://applyviz.example", TOKEN), out, seconds=1)
    follower._write(*gate._describe_state(state))

    lines = out.getvalue().split("\n")
    assert len(lines) == (3 if status in ("blocked", "changes-requested") else 2)
    assert all(line.isprintable() for line in lines)


@pytest.mark.django_db
def test_value_of_a_manifest_is_what_is_printed(team: Team) -> None:
    """The API states it as it is: a program that prints it must not trust it."""
    from applyviz.workflow.plans import changes  # noqa: PLC0415 - one attack

    plan, out = team.plan(config_map(a=HOSTILE["command"])), io.StringIO()
    shown = changes.show_value(changes.read_masked(plan.changes.get()).versions.manifest["data"]["a"])
    gate.print_plan(make_plan(shown), [], out)

    assert shown == HOSTILE["command"]
    assert "\n::" not in out.getvalue()


class _Hostile(BaseHTTPRequestHandler):
    """A server that sends the program elsewhere, or repeats what it was sent."""

    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(f"{self.path} {self.headers.get('Authorization', '')}")
        echo = {"error": {"problems": [{"message": f"no\n::add-mask::{self.path}"}], "message": "no"}}
        is_moved = self.path.startswith("/api/v1/moved")
        self.send_response(302 if is_moved else 403)
        if is_moved:
            self.send_header("Location", "/elsewhere")
        body = json.dumps(echo).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """The address of that server."""
    _Hostile.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["moved/", "refused/"])
def test_token_goes_nowhere_else_and_into_no_error(address: str, path: str) -> None:
    api = gate.Api(address, TOKEN)

    with pytest.raises(gate.GateError) as found:
        api.get(path)

    assert TOKEN not in str(found.value)
    assert [one for one in _Hostile.seen if one.startswith("/elsewhere")] == []
    out = io.StringIO()
    gate._say(*(f"! {line}" for line in str(found.value).split("\n")), out=out)
    assert all(line.startswith("! ") for line in out.getvalue().splitlines())


def test_token_is_sent_over_https_only() -> None:
    with pytest.raises(gate.GateError, match="over https only"):
        gate.Api("http://applyviz.example", TOKEN)
