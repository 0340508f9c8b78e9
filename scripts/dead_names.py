"""Find functions, classes and constants of modules that nothing in the product reaches.

`scripts/dead_code.py` compares names, so that a name counts as used when any module uses the same one. Here a name
belongs to its module: imports, re-exports and attributes of modules are followed from what runs (statements of modules,
registered functions, models, commands, settings, scripts) to the definitions that they read. Tests do not count.
Members of classes are not followed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from scripts.syntax import list_children, read_module

# The statements of a module, which run when it is imported.
_STATEMENTS = "<statements>"
# Modules whose definitions Django, Celery or people find by name.
_FOUND_BY_NAME = (
    *("applyviz.settings", "applyviz.records.models.*", "*.management.commands.*", "*.urls", "*.apps"),
    *("applyviz.asgi", "applyviz.celery", "applyviz.web.frame.session_store", "scripts.*", "manage"),
)
# Functions that the starter of a module calls.
_STARTED = frozenset({"main", "load"})
_DOTTED = re.compile(r"\bapplyviz(?:\.\w+)+")
_FOLLOWED = 12
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})
_Chain = tuple[str, ...]
_Name = tuple[str, str]


def _walk_scope(body: Iterable[ast.AST]) -> list[ast.AST]:
    """Return the nodes of a function without those of the functions and classes in it."""
    found = list(body)
    for node in found:
        if type(node) not in _SCOPES:
            found += list_children(node)
    return found


def _find_bound(body: Iterable[ast.AST]) -> set[str]:
    """Return the names that a function binds itself; imports in functions count as those of the module."""
    bound, shared = set[str](), set[str]()
    for node in _walk_scope(body):
        if isinstance(node, ast.Global):
            shared.update(node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, _Function | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
    return bound - shared


def _list_parameters(arguments: ast.arguments) -> list[ast.arg]:
    several = (arguments.vararg, arguments.kwarg)
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *(one for one in several if one)]


class _NameReads(ast.NodeVisitor):
    """Collect what a piece of code reads of its module, dotted as far as it is written."""

    def __init__(self) -> None:
        self.found: set[_Chain] = set()
        self._bound: frozenset[str] = frozenset()

    def generic_visit(self, node: ast.AST) -> None:
        """Read what is in a node of another kind."""
        for child in list_children(node):
            self.visit(child)

    def _visit_inside(self, nodes: Iterable[ast.AST], bound: Iterable[str]) -> None:
        before, self._bound = self._bound, self._bound.union(bound)
        for node in nodes:
            self.visit(node)
        self._bound = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Read decorators, defaults and annotations outside, and the body with its own names."""
        parameters = _list_parameters(node.args)
        outside = (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults, node.returns)
        for one in (*outside, *(parameter.annotation for parameter in parameters)):
            if one is not None:
                self.visit(one)
        self._visit_inside(node.body, _find_bound(node.body).union(one.arg for one in parameters))

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - ast's name

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Read the body with the parameters bound."""
        for one in (*node.args.defaults, *node.args.kw_defaults):
            if one is not None:
                self.visit(one)
        self._visit_inside([node.body], {parameter.arg for parameter in _list_parameters(node.args)})

    def _visit_loop(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        targets = {one.id for loop in node.generators for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
        self._visit_inside(list_children(node), targets)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_loop  # noqa: N815 - ast's names

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Take `module.name` as one."""
        chain, below = [node.attr], node.value
        while isinstance(below, ast.Attribute):
            chain.append(below.attr)
            below = below.value
        if not isinstance(below, ast.Name):
            self.visit(below)
        elif below.id not in self._bound:
            self.found.add((below.id, *reversed(chain)))

    def visit_Name(self, node: ast.Name) -> None:
        """Take a name that no function around binds."""
        if isinstance(node.ctx, ast.Load) and node.id not in self._bound:
            self.found.add((node.id,))


def _find_reads(*nodes: ast.AST | None) -> set[_Chain]:
    reads = _NameReads()
    for node in nodes:
        if node is not None:
            reads.visit(node)
    return reads.found


@dataclass
class _Module:
    """A module: where it defines which name, what each of them reads, and which names it imports from where."""

    name: str
    path: Path
    lines: dict[str, int] = field(default_factory=dict)
    reads: dict[str, set[_Chain]] = field(default_factory=lambda: defaultdict(set))
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    registered: set[str] = field(default_factory=set)

    def add(self, statement: ast.stmt, decorators: Iterable[str]) -> None:
        """Add one statement: a definition, or something that runs."""
        if isinstance(statement, _Function | ast.ClassDef):
            self._define(statement.name, statement, _find_reads(statement))
            written = [f"@{ast.unparse(one)}" for one in statement.decorator_list]
            if any(fnmatch(one, pattern) for one in written for pattern in decorators):
                self.registered.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(statement)
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For):
            self._add_block(statement, decorators)
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            self.reads[_STATEMENTS] |= _find_reads(statement)

    def _add_block(self, block: ast.stmt | ast.ExceptHandler, decorators: Iterable[str]) -> None:
        for node in ast.iter_child_nodes(block):
            if isinstance(node, ast.ExceptHandler):
                self._add_block(node, decorators)
            elif isinstance(node, ast.stmt):
                self.add(node, decorators)
            else:
                self.reads[_STATEMENTS] |= _find_reads(node)

    def _define(self, name: str, statement: ast.stmt, reads: set[_Chain]) -> None:
        self.lines.setdefault(name, statement.lineno)
        self.reads[name] |= reads

    def _assign(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        reads = _find_reads(statement.value, getattr(statement, "annotation", None))
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
            self.reads[_STATEMENTS] |= reads | {(name,) for name in names}
        else:
            for name in names:
                self._define(name, statement, reads)

    def add_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Add the names of an import, wherever it stands."""
        for one in node.names:
            if isinstance(node, ast.ImportFrom):
                self.imports[one.asname or one.name] = (self._find_base(node), one.name)
            else:
                first = one.name.split(".")[0]
                self.imports[one.asname or first] = (one.name if one.asname else first, "")

    def _find_base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        above = self.name.split(".")[: None if self.path.name == "__init__.py" else -1]
        return ".".join([*above[: len(above) - node.level + 1], *([node.module] if node.module else [])])


def _load(root: Path, path: Path, decorators: Iterable[str]) -> _Module:
    parts = path.relative_to(root).with_suffix("").parts
    module = _Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path)
    syntax = read_module(path)
    imports: list[ast.Import | ast.ImportFrom] = [*syntax.find(ast.Import), *syntax.find(ast.ImportFrom)]
    for node in imports:
        module.add_import(node)
    module.attributes.update(node.attr for node in syntax.find(ast.Attribute))
    module.texts.update(syntax.list_texts())
    for statement in syntax.tree.body:
        module.add(statement, decorators)
    return module


class _Product:
    """All modules, and which of their names something that runs reaches."""

    def __init__(self, modules: Iterable[_Module]) -> None:
        self._modules = {module.name: module for module in modules}
        self._reached: set[_Name] = set()
        self._open: list[_Name] = []

    def _reach(self, name: _Name) -> None:
        if name not in self._reached:
            self._reached.add(name)
            self._open.append(name)

    def _reach_module(self, name: str, reader: _Module) -> None:
        """A module is a value here: what its reader may call is reached."""
        for one in self._modules[name].lines.keys() & (reader.attributes | _STARTED):
            self._reach((name, one))

    def _follow(self, name: str, chain: _Chain, reader: _Module, depth: int = 0) -> None:
        """Reach what `chain` means inside the module `name`."""
        module, (head, *rest) = self._modules.get(name), chain
        if module is None or depth > _FOLLOWED:
            return
        if head in module.lines:
            self._reach((name, head))
        elif head in module.imports:
            base, imported = module.imports[head]
            self._enter(base, (imported, *rest) if imported else tuple(rest), reader, depth + 1)
        else:
            self._enter(f"{name}.{head}", tuple(rest), reader, depth + 1)

    def _enter(self, name: str, chain: _Chain, reader: _Module, depth: int) -> None:
        if name not in self._modules:
            return
        if not chain:
            self._reach_module(name, reader)
        elif f"{name}.{chain[0]}" in self._modules and chain[0] not in self._modules[name].lines:
            self._enter(f"{name}.{chain[0]}", chain[1:], reader, depth)
        else:
            self._follow(name, chain, reader, depth)

    def _start(self, module: _Module) -> None:
        self._reach((module.name, _STATEMENTS))
        by_name = any(fnmatch(module.name, pattern) for pattern in _FOUND_BY_NAME)
        for name in module.lines if by_name else module.registered:
            self._reach((module.name, name))
        package = module.name.rpartition(".")[0]
        for text in module.texts:
            siblings = [f"{package}.{text}"] if "import_module" in module.attributes and text.isidentifier() else []
            for dotted in (*_DOTTED.findall(text), *siblings):
                self._follow_text(dotted, module)

    def _follow_text(self, dotted: str, module: _Module) -> None:
        base, _, name = dotted.rpartition(".")
        if dotted in self._modules:
            self._reach_module(dotted, module)
        elif base in self._modules and name in self._modules[base].lines:
            self._reach((base, name))

    def find_unreached(self) -> Iterator[tuple[Path, int, str]]:
        """Yield the definitions that nothing reaches, by module and line."""
        for module in self._modules.values():
            self._start(module)
        while self._open:
            name, read = self._open.pop()
            for chain in self._modules[name].reads.get(read, ()):
                self._follow(name, chain, self._modules[name])
        for module in self._modules.values():
            for name, line in sorted(module.lines.items(), key=lambda one: one[1]):
                if (module.name, name) not in self._reached and not name.startswith("__"):
                    yield module.path, line, name


def list_files(root: Path, paths: Iterable[str]) -> list[Path]:
    """Return the modules of files and folders; migrations are left out."""
    folders = [root / path for path in paths]
    files = [file for folder in folders for file in ([folder] if folder.is_file() else sorted(folder.rglob("*.py")))]
    return [file for file in files if "migrations" not in file.parts]


def find_unreached(root: Path, files: Iterable[Path], decorators: Iterable[str]) -> list[str]:
    """Return one line for each definition of a module that nothing reaches: path, line and name."""
    loaded = [_load(root, file, decorators) for file in files]
    return [
        f"{path.relative_to(root).as_posix()}:{line}: nothing reaches {name}"
        for path, line, name in _Product(loaded).find_unreached()
    ]
