"""Flags of the gate about deletions beside --review: they make its next plan, or are refused."""

import pytest

from scripts import gate
from tests.scripts.test_gate_options import SEEN, Api


class NextPlanApi(Api):
    """Keeps the address as well."""

    def post(self, path, body):
        self.path = path
        return super().post(path, body)


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        (["--replace", "Job", "--replace", "Service/shop/web"], {"replace": "Job\nService/shop/web"}),
        (["--propagation", "Orphan", "--deletion-seconds", "9"], {"propagation": "Orphan", "deletion_seconds": "9"}),
        (
            ["--without", "Job/shop/a", "--leave-out", "Job/shop/b", "--leave-out-reason", "later"],
            {"leave_out": "Job/shop/a\nJob/shop/b", "leave_out_reason": "later"},
        ),
    ],
)
def test_choices_about_deletions_make_the_next_plan_of_a_review(flags, asked):
    api = NextPlanApi()

    assert gate._open_review(api, gate._read_arguments(["--review", "7", *flags])) == 7

    assert (api.path, api.body) == ("reviews/7/plans/", asked | SEEN)


@pytest.mark.parametrize("flags", [["--prune", "--all"], ["-l", "app=a"], ["--applyset", "secrets/a"], ["--delete"]])
def test_review_keeps_its_operation_and_what_it_prunes(flags):
    with pytest.raises(gate.GateError, match="open a new one") as refused:
        gate._open_review(Api(), gate._read_arguments(["--review", "7", *flags]))

    assert refused.value.status == gate.NOT_ASKED


def test_choices_are_about_the_plan_that_was_read():
    """Without --seen it is the latest plan; with it, a plan that another person made since refuses the choices."""
    api = NextPlanApi()

    gate._open_review(api, gate._read_arguments(["--review", "7", "--seen", "2", "--replace", "Job"]))

    assert api.body == {"replace": "Job", "seen": 2}


def test_a_plan_that_was_read_needs_choices():
    with pytest.raises(gate.GateError, match="name what it changes") as refused:
        gate._open_review(Api(), gate._read_arguments(["--review", "7", "--seen", "2"]))

    assert refused.value.status == gate.NOT_ASKED
