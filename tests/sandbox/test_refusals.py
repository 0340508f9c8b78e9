"""The sandbox refuses what cannot be read in the words of a real server, which were recorded."""

import pytest

from tests.controlplane.refusal_data import list_named, load_named, load_sample, read_case
from tests.controlplane.refusal_judging import explain, is_same
from tests.controlplane.refusal_sides import SandboxSide, prepare


@pytest.fixture(scope="module")
def side():
    made = SandboxSide()
    prepare(made)
    return made


@pytest.mark.parametrize("case", load_named(), ids=lambda case: case["name"])
def test_named_request_is_refused_as_the_server_refused_it(side, case):
    wire, expected = read_case(case)

    got = side.ask(wire)

    assert is_same(expected, got), explain(expected, got)


def test_every_named_request_was_recorded():
    assert [case["name"] for case in load_named()] == [name for name, _ in list_named()]


def test_sampled_requests_are_answered_as_the_server_answered_them(side):
    cases = [read_case(case) for case in load_sample()]
    differing = [wire.describe() for wire, expected in cases if not is_same(expected, side.ask(wire))]

    assert len(cases) > 300
    assert differing == []
