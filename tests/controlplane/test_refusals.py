"""Broken requests: the sandbox refuses what cannot be read as a real server does, in its very words."""

import os

import pytest

from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.refusal_data import load_named, read_case
from tests.controlplane.refusal_judging import explain, is_same
from tests.controlplane.refusal_sides import SandboxSide, ServerSide, prepare
from tests.controlplane.refusals import ACCEPTED, TYPED, VALIDATION, Figure, compare

SEED = int(os.environ.get("APPLYVIZ_SEED", "1"))


@pytest.fixture(scope="module")
def sides(binaries):
    """A server and a sandbox, both fresh: what other tests define and leave behind changes the answers."""
    with ControlPlane(binaries) as plane:
        server, sandbox = ServerSide(plane), SandboxSide()
        prepare(server)
        prepare(sandbox)
        yield server, sandbox
        server.close()


def show(figure: Figure, *families: str) -> list[str]:
    found = [(wire, theirs, ours) for family, wire, theirs, ours in figure.differing if family in families]
    return [f"{wire.describe()}\n{explain(theirs, ours)}" for wire, theirs, ours in found]


@pytest.mark.controlplane
def test_sandbox_refuses_new_cases_in_the_words_of_the_server(sides):
    server, sandbox = sides

    figure = compare(server, sandbox, 250, SEED)

    assert figure.total[TYPED] > 125
    assert show(figure, TYPED, ACCEPTED) == []


@pytest.mark.controlplane
def test_server_still_answers_named_requests_as_it_did(sides):
    cases = [read_case(case) for case in load_named()]

    assert [wire.about for wire, expected in cases if not is_same(expected, sides[0].ask(wire))] == []


@pytest.mark.long
def test_sandbox_refuses_very_many_new_cases_in_the_words_of_the_server(sides):
    server, sandbox = sides

    figure = compare(server, sandbox, 20_000, SEED + 1_000)

    assert show(figure, TYPED, ACCEPTED) == []
    assert figure.agreed[VALIDATION] >= figure.total[VALIDATION] * 0.98
