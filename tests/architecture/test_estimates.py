"""Whatever plans an object estimates with the same server model: a merge alone is not what a server stores."""

from __future__ import annotations

import ast

from scripts.syntax import Syntax
from tests.architecture.tracked import files_below, read_module

CONTEXT, ESTIMATES = "PlanningContext", "with_estimates"


def list_bare(module: Syntax) -> list[int]:
    """Return the lines that make the inputs of planning and never hand them to the function with the server model."""
    named = [(getattr(node.func, "id", ""), node) for node in module.find(ast.Call)]
    handed = [argument for name, call in named if name == ESTIMATES for argument in call.args]
    names = {argument.id for argument in handed if isinstance(argument, ast.Name)}
    stored = module.find(ast.Assign)
    assigned = [node.value for node in stored if names & {getattr(target, "id", "") for target in node.targets}]
    return [call.lineno for name, call in named if name == CONTEXT and call not in (*handed, *assigned)]


def test_inputs_of_planning_come_with_the_server_model():
    bare = {str(file): found for file in files_below("applyviz", ".py") if (found := list_bare(read_module(file)))}

    assert bare == {}


def test_inputs_without_a_server_model_are_found():
    lines = ("PlanningContext(x)", "with_estimates(PlanningContext(x))", "c = PlanningContext(x)", "with_estimates(c)")

    assert list_bare(Syntax("\n".join(lines))) == [1]
