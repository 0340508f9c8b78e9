"""Docstrings name what is there: a file, a module, a class, a function, a field or a value of the product.

They use the words of the glossary: one that it replaced means something else to everyone who reads it.
A name of Go, of Kubernetes or of an environment that a docstring cites is listed in `FOREIGN`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from scripts.syntax import Syntax
from tests.architecture.tracked import ROOT, files_below, read_module

FILES = [p for f in ("applyviz", "scripts") for p in files_below(f, ".py") if p.parent.name != "migrations"]
# What docstrings cite that is not ours, each with its origin.
FOREIGN = {
    "Go": "Marshal FormatFloat ParseBool SliceStable omitempty",
    "structured-merge-diff": (
        "EnsureNamedFieldsAreMembers ExtractInto Merge ReconcileFieldSetWithSchema RemoveItems Updater fieldpath"
    ),
    "Kubernetes": (
        "AllowUnconditionalUpdate BeforeDelete CorrelatedObject CreateOptions DefaultUnstructuredConverter"
        " IsValidPathSegmentName NestedInt64 NestedString ParseQuantity PatchOptions PrepareForCreate PrepareForUpdate"
        " ScaleHandler SetDefaults_Pod UpdateOptions applyPatcher"
        " attemptToDeleteItem dropTypeDependentFields jsonPatcher managedfields mergeMap recreate smpPatcher sync"
        " unstructuredSchemaCoercer"
    ),
    "CEL": "Lists Sets Strings ext regex",
    "PostgreSQL": "tsvector",
    "Django": "blocktranslate",
    "examples of names": "BODY DB_PASS HTTP_ NAME_FILE TIMESTAMP TOKEN_FILE Widget clientSecret",
}
FOREIGN_FILES = {"docs/contributing/addons.md": "kOps", "index.yaml": "Helm", "Chart.yaml": "Helm"}
_QUOTED = re.compile(r"``([^`\n]+)``|`([^`\n]+)`")
_PATH = re.compile(r"[\w/-]+\.(?:py|md|html|yaml|css|js)")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?<!\.gz)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_OF_A_VALUE = 60
# Words of the glossary's right column that plain English does not need, each with what to say instead.
GONE = {
    "complaint": "server error",
    "danger": "risk",
    "desk": "request answerer",
    "errand": "worker request",
    "hazard": "risk",
    "settle": "resolve or normalize",
    "standing": "state or approval",
    "tell": "describe, distinguish, reveal, report or show",
    "tenure": "ownership history",
    "told": "described, reported or shown",
}
_GONE = re.compile(rf"\b({'|'.join(GONE)})(?:s|d)?\b", re.IGNORECASE)


def find_docstrings(module: Syntax) -> Iterator[str]:
    """Yield the docstrings of a module, and the texts below its constants and fields."""
    for node in module.find(ast.Expr):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def find_quoted(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield what docstrings have in backticks."""
    for text in texts:
        yield from (double or single for double, single in _QUOTED.findall(text))


@cache
def read_docstrings(path: Path) -> tuple[str, ...]:
    """Return the docstrings of a file, found once for all tests of a process."""
    return tuple(find_docstrings(read_module(path)))


def _list_names(module: Syntax) -> Iterator[str]:
    yield from (node.name for node in module.find(ast.FunctionDef))
    yield from (node.name for node in module.find(ast.AsyncFunctionDef))
    yield from (node.name for node in module.find(ast.ClassDef))
    yield from (node.id for node in module.find(ast.Name))
    yield from (node.arg for node in module.find(ast.arg))
    yield from (node.arg for node in module.find(ast.keyword) if node.arg)
    yield from (node.attr for node in module.find(ast.Attribute))
    for alias in module.find(ast.alias):
        yield from (alias.asname or alias.name).split(".")
    for text in module.list_texts():
        if len(text) < _MOST_OF_A_VALUE:
            yield from _WORD.findall(text)


def _list_members(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that the statements of a module or a class define."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
            yield from _list_self(statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (one.asname or one.name for one in statement.names)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
        elif isinstance(statement, ast.If | ast.Try):
            yield from _list_members(statement.body)


def _list_self(function: ast.stmt) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr


class Product:
    """The names of the product, its modules, and the members of each module and class."""

    def __init__(self, modules: dict[Path, Syntax]) -> None:
        self.names = {name for names in FOREIGN.values() for name in names.split()}
        # The members of the modules of each name: that of a module with any of its folders, or with none.
        self.modules: dict[str, list[set[str]]] = {}
        self.classes: dict[str, set[str]] = {}
        for path, module in modules.items():
            parts = path.with_suffix("").parts
            self.names.update(parts, _list_names(module))
            members, whole = set(_list_members(module.tree.body)), [part for part in parts if part != "__init__"]
            for start in range(len(whole)):
                self.modules.setdefault(".".join(whole[start:]), []).append(members)
            for node in module.find(ast.ClassDef):
                if not node.bases:
                    self.classes.setdefault(node.name, set()).update(_list_members(node.body))

    def has(self, dotted: str) -> bool:
        """Return whether a name is one of ours: of a module with its folder, of a class without a base, or any."""
        before, _, last = dotted.rpartition(".")
        if dotted in self.modules:
            return True
        if "." in before and (found := self.modules.get(before)):
            return any(last in members for members in found)
        if before in self.classes:
            return last in self.classes[before]
        return all(name in self.names for name in dotted.split("."))


def find_lost(quoted: str, path: Path, product: Product) -> bool:
    """Return whether a quoted text looks like a file or a name of the product and is none."""
    text = re.sub(r"\([^)]*\)$", "", quoted)
    if _PATH.fullmatch(text):
        folders = [*path.parents, ROOT / "docs", ROOT / "tests", ROOT / "static", ROOT / "templates"]
        above = any((folder / text).exists() for folder in folders if folder.is_relative_to(ROOT))
        return not above and text not in FOREIGN_FILES
    return _DOTTED.fullmatch(text) is not None and not product.has(text)


def test_docstrings_name_what_is_there():
    product = Product({path.relative_to(ROOT): read_module(path) for path in FILES})

    quoted = [(path, one) for path in FILES for one in find_quoted(read_docstrings(path))]

    assert [f"{path.relative_to(ROOT)}: {one}" for path, one in quoted if find_lost(one, path, product)] == []


def test_docstrings_have_no_word_that_is_gone():
    texts = [(path, text) for path in FILES for text in read_docstrings(path)]

    found = [(path, word) for path, text in texts for word in _GONE.findall(text)]

    assert [f"{path.relative_to(ROOT)}: {word} (say {GONE[word.lower()]})" for path, word in found] == []


def test_docstrings_end_with_a_whole_sentence():
    texts = [(path, text.rstrip().rpartition("\n")[2].strip()) for path in FILES for text in read_docstrings(path)]

    cut = [(path, line) for path, line in texts if line and line[-1] not in ".?!:…)`" and not line.startswith("- ")]
    assert [f"{path.relative_to(ROOT)}: {line}" for path, line in cut] == []


def test_every_foreign_name_is_cited():
    cited = {word for path in FILES for one in find_quoted(read_docstrings(path)) for word in _WORD.findall(one)}
    files = {one for path in FILES for one in find_quoted(read_docstrings(path))}

    assert [name for names in FOREIGN.values() for name in names.split() if name not in cited] == []
    assert FOREIGN_FILES.keys() - files == set()


PLANTED = {
    Path("applyviz/room/plans.py"): '''
"""Reads `shown`, `Plan.digest`, `room.plans.read`, `read(plan)`, `plans.py` and `room/plans.py`; one may tell."""
from applyviz.room import rows
class Plan:
    """See `Plan.total`, `lost`, `room.plans.write`, `lost.py` and `rooms/plans.py`."""
    digest: str
    def read(self):
        self.shown = 1
def read():
    pass
''',
    Path("applyviz/room/rows.py"): "",
}


def test_planted_names_that_are_not_there_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.architecture.test_docstrings.ROOT", tmp_path)
    for path, source in PLANTED.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(source)
    modules = {path: Syntax(source) for path, source in PLANTED.items()}
    product, path = Product(modules), next(iter(PLANTED))
    texts = tuple(find_docstrings(modules[path]))

    lost = [one for one in find_quoted(texts) if find_lost(one, tmp_path / path, product)]

    assert lost == ["Plan.total", "lost", "room.plans.write", "lost.py", "rooms/plans.py"]
    assert [word for text in texts for word in _GONE.findall(text)] == ["tell"]
