"""Requests for the next plan of a review name the plan that the person read, because choices apply to that plan only.

`replan_review` compares the two under the lock of the review. A caller without `seen` would let one person's choices
(a resolution, an object left out, conflicts forced) apply to a plan that this person was never shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.tracked import ROOT, files_below, parse


def list_calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a function in the product, with its module and line."""
    for path in files_below("applyviz", ".py"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and name in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_every_caller_names_the_plan_that_was_seen() -> None:
    calls = list(list_calls("replan_review"))

    assert len(calls) > 9
    assert [where for where, call in calls if "seen" not in {one.arg for one in call.keywords}] == []


def test_every_caller_names_the_plan_whose_branch_is_followed() -> None:
    following = list(list_calls("start_following"))

    assert len(following) > 3
    assert [where for where, call in following if "seen" not in {one.arg for one in call.keywords}] == []


def test_no_other_use_case_makes_the_next_plan_of_a_review() -> None:
    modules = {where.partition(":")[0] for where, _call in list_calls("_request_plan")}

    assert modules == {"applyviz/workflow/plans/reviews.py"}
