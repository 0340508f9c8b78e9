"""What a use case refuses is read by people: every such sentence goes through the catalogue."""

import ast

from tests.architecture.tracked import ROOT, files_below, parse

REFUSALS = {"NotAllowedError", "NotPossibleError", "NotValidError"}  # NotVisibleError says nothing to anybody
CATALOGUE = {"_", "gettext", "ngettext"}
FILES = [*files_below("applyviz/workflow", ".py"), *files_below("applyviz/web", ".py")]


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_sentence(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()


def _list_bare(node: ast.AST) -> list[str]:
    """The sentences below a node that pass no catalogue."""
    if _called(node) in CATALOGUE:
        return []
    found = [str(node.value)] if _is_sentence(node) and isinstance(node, ast.Constant) else []
    return found + [text for child in ast.iter_child_nodes(node) for text in _list_bare(child)]


def find_bare_refusals(tree: ast.AST) -> list[str]:
    """Sentences of refusals that are raised as they stand."""
    calls = [node for node in ast.walk(tree) if _called(node) in REFUSALS]
    return [text for call in calls if isinstance(call, ast.Call) for one in call.args for text in _list_bare(one)]


def test_refusals_pass_the_catalogue():
    bare = {str(path.relative_to(ROOT)): found for path in FILES if (found := find_bare_refusals(parse(path)))}

    assert bare == {}, f"put these into gettext, `_(…)`: {bare}"


def test_a_bare_refusal_is_found():
    source = 'raise NotValidError(f"there is {n} already")\nraise NotPossibleError(_("not now") % {"n": "it is"})'

    assert find_bare_refusals(ast.parse(source)) == ["there is ", "it is"]
