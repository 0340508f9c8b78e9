"""Find the texts that a command line names: files, folders, patterns, standard input, links, a kustomization.

Rule: the builder and visitors of k8s.io/cli-runtime: of folders only `.json .yaml .yml` files are read, by name; a file
named explicitly may have any name; a pattern without matches is an error; and a path that does not exist fails the
whole command. Nothing is read here: files are given as name → text.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from applyviz.engine.requests.argv import ApplyCommand

EXTENSIONS = (".json", ".yaml", ".yml")


class Material(Struct, frozen=True):
    """The inputs available to a command: files by name, standard input, and rendered texts.

    `folder` is where the command ran; `rendered` holds kustomizations and links by their argument.
    """

    files: Mapping[str, str]
    stdin: str | None = None
    rendered: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


class SourceText(Struct, frozen=True):
    """One text to read, under its name in messages."""

    name: str
    text: str


class Inputs(Struct, frozen=True):
    """All texts in order, and the problems; `is_usable` is False if nothing may be applied at all."""

    texts: tuple[SourceText, ...] = ()
    problems: tuple[str, ...] = ()
    is_usable: bool = True


def _extension(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:] if dot > name.rfind("/") else ""


class _Finder:
    def __init__(self, material: Material, *, is_recursive: bool) -> None:
        self.material = material
        self.is_recursive = is_recursive
        self.files = sorted(material.files, key=lambda name: name.split("/"))

    def locate(self, path: str) -> str:
        """Return the name of a path from the top folder; "" is the top folder itself."""
        name = posixpath.normpath(posixpath.join(self.material.folder, path))
        return "" if name == "." else name

    def is_there(self, path: str) -> bool:
        name = self.locate(path)
        return not name or name in self.material.files or any(f.startswith(name + "/") for f in self.files)

    def expand(self, pattern: str) -> list[str]:
        """Return the path itself if it exists, else the paths that match it as a pattern."""
        if self.is_there(pattern):
            return [pattern]
        wanted = self.locate(pattern).replace("[^", "[!").split("/")
        found: dict[str, None] = {}
        for name in self.files:
            steps = name.split("/")
            heads = steps[: len(wanted)]
            if len(heads) == len(wanted) and all(map(fnmatch.fnmatchcase, heads, wanted)):
                found["/".join(heads)] = None
        return [posixpath.relpath(name, self.material.folder or ".") for name in found]

    def walk(self, path: str) -> Iterator[SourceText]:
        name = self.locate(path)
        if name in self.material.files:
            yield SourceText(path, self.material.files[name])
            return
        prefix = name + "/" if name else ""
        for file in self.files:
            below = file.removeprefix(prefix)
            if not file.startswith(prefix) or ("/" in below and not self.is_recursive):
                continue
            if _extension(file) in EXTENSIONS:
                yield SourceText(posixpath.join(path, below), self.material.files[file])


def _read_rendered(argument: str, material: Material) -> tuple[list[SourceText], list[str]]:
    text = material.rendered.get(argument, "")
    return ([SourceText(argument, text)], []) if text else ([], [f'"{argument}" could not be rendered'])


def _read_filename(filename: str, finder: _Finder) -> tuple[list[SourceText], list[str]]:
    if filename == "-":
        return [SourceText("STDIN", finder.material.stdin or "")], []
    if filename.startswith(("http://", "https://")):
        return _read_rendered(filename, finder.material)
    paths = finder.expand(filename)
    if not paths:
        return [], [f'the path "{filename}" does not exist']
    return [text for path in paths for text in finder.walk(path)], []


def read_inputs(command: ApplyCommand, material: Material) -> Inputs:
    """Return all texts that the command reads, in its order.

    - A URL that cannot be read is a separate error; if a path is missing, nothing is applied.
    """
    if command.kustomize:
        texts, problems = _read_rendered(command.kustomize, material)
        return Inputs(tuple(texts), tuple(problems))
    finder = _Finder(material, is_recursive=command.options.is_recursive)
    texts, problems, is_usable = [], [], True
    for filename in command.filenames:
        found, wrong = _read_filename(filename, finder)
        texts += found
        problems += wrong
        is_usable = is_usable and not (wrong and "://" not in filename)
    if command.filenames.count("-") > 1:
        problems.append("standard input cannot be used for multiple arguments")
        is_usable = False
    if not texts and not problems:
        problems.append(f"no manifests in {', '.join(command.filenames)}: recognized file extensions are {EXTENSIONS}")
    return Inputs(tuple(texts), tuple(problems), is_usable)
