"""The first step of planning: read the manifests of a plan, and store what is wrong with them at once.

Large sources are parsed here and not when they are brought, so their review is first in the state Reading. The cluster
may answer late, or never: problems of manifests do not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlanProblem
from applyviz.engine.requests.options import PruneMode
from applyviz.records.models import Plan
from applyviz.sources.collector import defer_full_gc
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import calculation


def problem_to_json(problem: PlanProblem) -> dict[str, JSONValue]:
    """Return a problem as a plan stores it."""
    position = problem.position
    return {"reason": problem.reason, "file": position.file, "line": position.line, "column": position.column}


def read_manifests_of(plan: Plan, store: Callable[..., bool]) -> calculation.FrozenSource:
    """Return the manifests of a plan, and store their problems.

    - `store` updates columns of the plan.
    - Raises `PlanError` for manifests without an object, as kubectl does; a revert may consist of deletions alone.
    """
    with defer_full_gc():
        source = calculation.read_source(plan.revision)
    has_deletions = options_from_json(plan.options).prune.mode is PruneMode.NAMED  # of a revert, which may need no file
    if source.is_empty and not has_deletions:
        raise PlanError("no objects passed to apply: the manifests hold no object")
    problems = as_stored([problem_to_json(one) for one in source.problems])
    if problems != plan.problems:
        store(problems=problems)
    return source
