"""The workflow decides by facts: no module of it compares sentences, or finds anything by one.

A sentence is what passes the catalogue, the label of a choice, and what a function returns that returns one of those.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from scripts.syntax import list_children
from tests.architecture.tracked import ROOT, files_below, parse

_CATALOGUE = {"_", "gettext", "ngettext", "gettext_lazy", "ngettext_lazy"}
_CATALOGUE |= {"describe", "describe_all", "join_clauses"}  # of `foundation/sentences.py`
_MEASURES = {"len", "bool", "any", "all", "isinstance"}  # what they return is no text
_MIXED = {"_read_line"}  # it returns a field, or in words why there is none
_KEYING = {"set", "frozenset", "fromkeys", "Counter"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _called(node: ast.AST) -> str:
    """The last name of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _has_words(node: ast.AST, sources: set[str], names: set[str]) -> bool:
    """Whether an expression has a sentence, from the catalogue, a function among `sources` or a variable."""
    name = _called(node)
    if name in _MEASURES:
        return False
    if name in _CATALOGUE or name in sources or (name.startswith("get_") and name.endswith("_display")):
        return True
    if (isinstance(node, ast.Attribute) and node.attr == "label") or (isinstance(node, ast.Name) and node.id in names):
        return True
    return any(_has_words(child, sources, names) for child in list_children(node))


@cache
def _list_results(function: ast.AST) -> tuple[ast.expr, ...]:
    kinds = (ast.Return, ast.Yield, ast.YieldFrom)
    return tuple(node.value for node in ast.walk(function) if isinstance(node, kinds) and node.value is not None)


@cache
def _list_assigned(function: ast.AST) -> tuple[tuple[ast.AST, frozenset[str]], ...]:
    """Each value of a function with the variables that are given it."""
    found = []
    for node in ast.walk(function):
        value = node.iter if isinstance(node, ast.For | ast.comprehension) else getattr(node, "value", None)
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        names = frozenset(target.id for target in targets if isinstance(target, ast.Name))
        if isinstance(value, ast.AST) and names:
            found.append((value, names))
    return tuple(found)


def _find_names(function: ast.AST, sources: set[str]) -> set[str]:
    """The variables of a function that are given a sentence."""
    names: set[str] = set()
    for _round in range(3):
        for value, targets in _list_assigned(function):
            if not targets <= names and _has_words(value, sources, names):
                names |= targets
    return names


def find_sources(trees: Iterable[ast.Module]) -> set[str]:
    """The names of functions that return sentences; of a name that means several functions, all must."""
    functions: dict[str, list[ast.AST]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS):
                functions.setdefault(node.name, []).append(node)
    sources: set[str] = set()
    while True:
        found = {
            name
            for name, bodies in functions.items()
            if name not in _MIXED
            and all(any(_has_words(r, sources, _find_names(b, sources)) for r in _list_results(b)) for b in bodies)
        }
        if found <= sources:
            return sources
        sources |= found


def _list_keys(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a node that are compared, or looked up."""
    if isinstance(node, ast.Compare):
        is_identity = all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
        yield from () if is_identity else (node.left, *node.comparators)
    elif isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key is not None)
    elif isinstance(node, ast.DictComp):
        yield node.key
    elif isinstance(node, ast.Subscript):
        yield node.slice
    elif _called(node) in _KEYING and isinstance(node, ast.Call):
        yield from node.args


def find_keyed(tree: ast.Module, sources: set[str]) -> list[int]:
    """The lines that compare sentences, or use them as keys."""
    found = set()
    for function in (node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)):
        names = _find_names(function, sources)
        for node in ast.walk(function):
            if isinstance(node, ast.expr) and any(_has_words(key, sources, names) for key in _list_keys(node)):
                found.add(node.lineno)
    return sorted(found)


def test_the_workflow_keys_and_compares_by_no_sentence():
    trees = {path: parse(path) for path in files_below("applyviz/workflow", ".py")}
    sources = find_sources(trees.values())

    assert {"render_sentence", "find_weakened"} <= sources
    found = {str(path.relative_to(ROOT)): find_keyed(tree, sources) for path, tree in trees.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_variants_hold_no_sentence():
    """Only `sentences.py` has words for blockers."""
    for name in ("foundation/blockers.py", "foundation/run_blockers.py", "approvals/next_steps.py"):
        tree = parse(ROOT / "applyviz" / "workflow" / name)
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        ]

        assert [text for text in texts if " " in text] == []


def test_a_sentence_that_is_a_key_is_found():
    planted = """
def name_broken(n):
    return ngettext("%(n)d broken", "%(n)d broken", n)

def list_unsafe(plan):
    return (name_broken(1), *name_all(plan))

def name_all(plan):
    texts = [_("not now")]
    return tuple(texts)

def find(plan):
    links = {name_broken(2): "/there/"}
    asked = tuple(b for b in plan if b not in list_unsafe(plan))
    return links[_("not now")] if set(asked) == set(name_all(plan)) else len(name_all(plan)) > 1
"""
    tree = ast.parse(planted)
    sources = find_sources([tree])

    assert sources == {"name_broken", "list_unsafe", "name_all", "find"}
    assert find_keyed(tree, sources) == [13, 14, 15]


def test_facts_are_compared_freely():
    tree = ast.parse("def find(plan, found):\n    why = NotNow(plan)\n    return why in found and {why: 1}[why] == 1\n")

    assert find_keyed(tree, find_sources([tree])) == []
