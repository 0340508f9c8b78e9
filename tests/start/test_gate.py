"""`scripts/gate.py` as a pipeline runs it, against a server of its own: what people do there decides how it ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.start.gating import Gate, Installation

pytestmark = pytest.mark.start


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    found = Installation(tmp_path_factory.mktemp("home"))
    found.start()
    found.open_hands()
    try:
        yield found
    finally:
        found.close()


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
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: busybox, envFrom: [{configMapRef: {name: before}}]}]
"""


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


@pytest.mark.long
def test_time_that_is_over_is_no_refusal_and_a_later_job_goes_on(installation, token, manifest):
    asks = Gate(installation, token, manifest("later"), "--plan-only")
    status, said = asks.end()
    number = said.partition("of review ")[2].partition(":")[0]

    waits = Gate(installation, token, "--review", number, "--timeout", "1")

    assert (status, waits.end()) == (2, (2, waits.said))
    assert "timed out; it is still: needs approval" in waits.said
    installation.do(f"approve({number})")
    assert Gate(installation, token, "--review", number).end()[0] == 0


@pytest.mark.core(1)
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
    text = installation.do("token()")
    gate = Gate(installation, text, manifest("expired"))
    number = gate.wait_for(SHOWN)

    installation.do(f"end_token({text!r})")
    installation.do(f"approve({number})")  # news: what is asked next is refused

    status, said = gate.end()
    assert (status, said.splitlines()[-1]) == (3, "! there is no such token, or it has ended")
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


@pytest.mark.long
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


def test_job_in_the_set_is_applied_and_verified(installation, token, manifest, tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text(JOB)
    gate = Gate(installation, token, manifest("before"), str(job))
    number = gate.wait_for(SHOWN)

    installation.do(f"approve({number})")

    status, said = gate.end()
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert status == 0, said
    assert {"applied ConfigMap before", "applied Job migrate"} <= lines, said
    again = Gate(installation, token, manifest("before"), str(job))
    assert (again.end()[0], "nothing to apply" in again.said) == (0, True), again.said
