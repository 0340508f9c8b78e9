"""List the references of a kustomization, and check that the uploaded tree contains all of them.

Rule: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/. Every reference must name a file or folder
of the tree, which excludes remote bases, absolute paths and parent folders at once. Helm charts, plugins and functions
run programs and are refused by name.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.stream import decode_text, split_documents
from applyviz.engine.manifests.yaml_tree import TreeReader
from applyviz.engine.objects.errors import ManifestError, SourceError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.sources.upload import holds_prefix

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PATH_LISTS = (
    "resources",
    "bases",
    "components",
    "crds",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "patchesStrategicMerge",
)
_PATH_FIELDS = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_PROGRAMS = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
_FUNCTION_MARKS = (b"config.kubernetes.io/function", b"config.k8s.io/function")
_LIMITS = ReadLimits(depth=50, values=100_000, document_bytes=1024 * 1024)


@dataclass(slots=True)
class _Scan:
    files: Mapping[str, bytes]
    names: Sequence[str]
    problems: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def is_folder(self, name: str) -> bool:
        return name in ("", ".") or holds_prefix(self.names, f"{name}/")

    def scan_folder(self, folder: str) -> None:
        if folder in self.seen:
            return
        self.seen.add(folder)
        found = [name for name in NAMES if posixpath.normpath(posixpath.join(folder, name)) in self.files]
        if len(found) != 1:
            what = "no kustomization file" if not found else "more than one kustomization file"
            self.problems.append(f"{folder or '.'}: {what}")
            return
        name = posixpath.normpath(posixpath.join(folder, found[0]))
        for value in self._read(name, _LIMITS):
            self._scan_kustomization(name, folder, value)

    def _read(self, name: str, limits: ReadLimits) -> Iterator[JSONObject]:
        text = decode_text(self.files[name]).encode("utf-8", "replace")
        for chunk in split_documents(text, name):
            try:
                if isinstance(chunk, ManifestError):
                    raise chunk
                value = TreeReader(name, chunk.first_line, limits).read(chunk.text).value
            except ManifestError as error:
                self.problems.append(str(error))
                continue
            if isinstance(value, dict):
                yield value

    def _scan_file(self, name: str) -> None:
        """Read a file as we read manifests: the program would expand its aliases without a limit but that of memory."""
        if name.endswith((".yaml", ".yml")) and name not in self.seen:
            self.seen.add(name)
            deque(self._read(name, ReadLimits()), maxlen=0)

    def _scan_kustomization(self, name: str, folder: str, value: JSONObject) -> None:
        for program in _PROGRAMS:
            if program in value:
                self.problems.append(f"{name}: {program} runs Helm, which is not done here")
        for field_name, reference in _references(value):
            self._check(f"{name}: {field_name}", folder, reference)

    def _check(self, where: str, folder: str, reference: str) -> None:
        shown = reference[:100]
        if reference.startswith(("-", "/")) or "\\" in reference:
            self.problems.append(f"{where}: {shown} is no path within the tree")
            return
        target = posixpath.normpath(posixpath.join(folder, reference))
        if target == ".." or target.startswith("../"):
            self.problems.append(f"{where}: {shown} leads out of the tree")
        elif target in self.files:
            self._scan_file(target)
        elif self.is_folder(target):
            self.scan_folder("" if target == "." else target)
        else:
            self.problems.append(f"{where}: {shown} is not in the tree (nothing remote is fetched)")


def _texts(value: JSONValue) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item


def _generator_files(entry: JSONObject) -> Iterator[str]:
    for text in _texts(entry.get("files")):
        yield text.rpartition("=")[2]
    for key in ("env", "envs"):
        yield from _texts(entry.get(key))


def _references(value: JSONObject) -> Iterator[tuple[str, str]]:
    for name in _PATH_LISTS:
        # A text of several lines is an inline patch.
        yield from ((name, text) for text in _texts(value.get(name)) if "\n" not in text)
    for name in _PATH_FIELDS:
        for entry in value.get(name) or ():
            if isinstance(entry, Mapping) and isinstance(entry.get("path"), str):
                yield name, entry["path"]
    for name in _GENERATORS:
        for entry in value.get(name) or ():
            if isinstance(entry, Mapping):
                yield from ((name, text) for text in _generator_files(entry))
    openapi = value.get("openapi")
    if isinstance(openapi, Mapping) and isinstance(openapi.get("path"), str):
        yield "openapi", openapi["path"]


def check_kustomization(files: Mapping[str, bytes], folder: str) -> None:
    """Raise `SourceError` with every reason why a kustomization may not be rendered."""
    if posixpath.basename(folder) in NAMES and posixpath.normpath(folder) in files:
        raise SourceError(f"{folder} is the file of a kustomization: name its folder, or . for the root")
    scan = _Scan(files, sorted(files))
    scan.scan_folder("" if folder in ("", ".") else posixpath.normpath(folder))
    for name, data in files.items():
        if any(mark in data for mark in _FUNCTION_MARKS):
            scan.problems.append(f"{name}: functions run programs, which is not done here")
    if scan.problems:
        raise SourceError("; ".join(scan.problems))
