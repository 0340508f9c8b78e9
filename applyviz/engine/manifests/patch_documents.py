"""Read and write patch documents: a patch, and the object that `kubectl patch` would send it to.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/. A patch document is
of kind Patch and has no apiVersion, so that no cluster can serve its kind; kubectl refuses it. Its object of a set is
the target, with the values that the patch sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from applyviz.engine.manifests.addresses import list_address_parts
from applyviz.engine.manifests.documents import (
    DocumentProblem,
    DuplicateKey,
    ManifestDocument,
    ObjectPatch,
    ParsedFile,
    PatchType,
    PlainPath,
    Positions,
    Retyped,
    to_field_path,
)
from applyviz.engine.objects.golang import read_signed
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.request_paths import find_segment_problem
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue

_Note = TypeVar("_Note", Retyped, DuplicateKey)
KIND = "Patch"
SUBRESOURCES = ("status", "scale")
_FIELDS = ("kind", "target", "type", "subresource", "patch")
_TARGET = ("apiVersion", "kind", "namespace", "name")
# The fields that each operation of a JSON patch needs besides its path.
_NEEDED: dict[str, tuple[str, ...]] = {
    "add": ("value",),
    "replace": ("value",),
    "test": ("value",),
    "remove": (),
    "copy": ("from",),
    "move": ("from",),
}
_DELETE = "$deleteFromPrimitiveList/"
# They compare or repeat live values, which the author of a patch may not be allowed to read.
_READS_LIVE = ("test", "copy", "move")


class _PatchReader:
    """Reads one document; collects every problem with its field."""

    def __init__(self, document: ManifestDocument) -> None:
        self._document, self._obj = document, document.obj
        self.problems: list[DocumentProblem] = []

    def _note(self, reason: str, *path: str | int) -> None:
        named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
        position = self._document.positions.nearest(path)
        self.problems.append(DocumentProblem(f"{named} {reason}", position, to_field_path(path)))

    def _note_unknown(self, found: JSONObject, known: Iterable[str], *path: str) -> None:
        for name in found:
            if name not in known:
                self._note("is no field of a patch", *path, name)

    def _read_text(self, found: JSONObject, name: str, *path: str) -> str:
        value = found.get(name)
        if value is not None and not isinstance(value, str):
            self._note("must be text", *path, name)
        return value if isinstance(value, str) else ""

    def _read_choice(self, name: str, choices: Iterable[str], default: str) -> str:
        value = self._read_text(self._obj, name) or default
        if value != default and value not in choices:
            self._note(f"must be one of {', '.join(choices)}", name)
            return default
        return value

    def _read_target(self) -> JSONObject:
        target = self._obj.get("target")
        if not isinstance(target, Mapping):
            self._note("must name the object: apiVersion, kind, name, and its namespace", "target")
            return {}
        self._note_unknown(target, _TARGET, "target")
        texts = {name: self._read_text(target, name, "target") for name in _TARGET}
        for name in ("apiVersion", "kind", "name"):
            if not texts[name] and isinstance(target.get(name), str | None):
                self._note("is missing", "target", name)
        metadata = {key: texts[key] for key in ("name", "namespace") if texts[key]}
        found = {"apiVersion": texts["apiVersion"], "kind": texts["kind"], "metadata": metadata}
        for part in list_address_parts(found):
            problem = find_segment_problem(part.text)
            if problem:
                self._note(problem, "target", part.path[-1])
        return found

    def _check_map(self, body: JSONValue) -> None:
        if not isinstance(body, Mapping):
            self._note("must be a map of fields; a list of operations has type json", "patch")
        elif not isinstance(body.get("metadata") or {}, Mapping):
            self._note("must be a map", "patch", "metadata")

    def _check_list_values(self, body: JSONValue, *path: str | int) -> None:
        """Refuse a value that a map deletes from a list and sets in it: the server does both in a random order."""
        below: Iterable[tuple[str | int, JSONValue]] = ()
        if isinstance(body, Mapping):
            below = body.items()
            for name, deleted in body.items():
                kept = body.get(name.removeprefix(_DELETE)) if name.startswith(_DELETE) else None
                if isinstance(kept, list) and isinstance(deleted, list) and not _are_apart(kept, deleted):
                    self._note("deletes a value that the list also sets: the order is random", "patch", *path, name)
        elif isinstance(body, list):
            below = enumerate(body)
        for step, item in below:
            self._check_list_values(item, *path, step)

    def _check_operations(self, body: JSONValue, kind: str) -> None:
        if not isinstance(body, list):
            self._note("must be a list of operations, because its type is json", "patch")
            return
        for number, operation in enumerate(body):
            self._check_operation(operation, number, is_secret=kind == "Secret")

    def _check_operation(self, operation: JSONValue, number: int, *, is_secret: bool) -> None:
        path: PlainPath = ("patch", number)
        if not isinstance(operation, Mapping):
            self._note("must be an operation with op and path", *path)
            return
        op = operation.get("op")
        needed = _NEEDED.get(op) if isinstance(op, str) else None
        if needed is None:
            self._note(f"must be one of {', '.join(_NEEDED)}", *path, "op")
            return
        if is_secret and op in _READS_LIVE:
            self._note(f"cannot be {op} for a Secret: it would compare or repeat values that are hidden", *path, "op")
        for name in ("path", *(name for name in needed if name != "value")):
            pointer = operation.get(name)
            if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
                self._note("must be a path such as /spec/replicas", *path, name)
        if "value" in needed and "value" not in operation:
            self._note("is missing", *path, "value")

    def read(self) -> ManifestDocument | None:
        """Return the document as the object of its target; None if there are problems."""
        self._note_unknown(self._obj, _FIELDS)
        target = self._read_target()
        patch_type = PatchType(self._read_choice("type", [t.value for t in PatchType], PatchType.STRATEGIC.value))
        subresource = self._read_choice("subresource", SUBRESOURCES, "")
        body: JSONValue = self._obj.get("patch")
        if patch_type is PatchType.JSON:
            self._check_operations(body, str(target.get("kind")))
        else:
            self._check_map(body)
        if patch_type is PatchType.STRATEGIC:
            self._check_list_values(body)
        if self.problems:
            return None
        return _make_document(self._document, target, ObjectPatch(patch_type, body, subresource))


def _are_apart(kept: list[JSONValue], deleted: list[JSONValue]) -> bool:
    return {value for value in kept if isinstance(value, str)}.isdisjoint(v for v in deleted if isinstance(v, str))


def _make_document(document: ManifestDocument, target: JSONObject, patch: ObjectPatch) -> ManifestDocument:
    """Return the document of a patch: its object is the target with what the patch sets."""
    is_json = patch.type is PatchType.JSON
    found = _collect_values(patch.body) if is_json else _without_directives(patch.body)
    body: JSONObject = found if isinstance(found, Mapping) else {}
    metadata = {**(body.get("metadata") or {}), **target["metadata"]}
    tree = document.positions.subtree(("patch",))
    # The values of operations have other paths than the fields that they set, so no note about them can be placed.
    return replace(
        document,
        obj={**body, **target, "metadata": metadata},
        positions=Positions(document.positions.file, tree),
        retyped=() if is_json else tuple(_list_below(document.retyped)),
        duplicates=() if is_json else tuple(_list_below(document.duplicates)),
        patch=patch,
    )


def _without_directives(value: JSONValue) -> JSONValue:
    """Return a merge patch without `$patch` and its like, which are no fields; list entries keep their positions."""
    if isinstance(value, Mapping):
        return {name: _without_directives(item) for name, item in value.items() if not name.startswith("$")}
    return [_without_directives(item) for item in value] if isinstance(value, list) else value


def _list_below(notes: Iterable[_Note]) -> Iterator[_Note]:
    for note in notes:
        if note.path[:1] == ("patch",):
            yield replace(note, path=note.path[1:])


def _collect_values(operations: JSONValue) -> JSONObject:
    """Return the values that operations set at paths of fields; those at positions of lists are left out."""
    found: dict[str, JSONValue] = {}
    listed = operations if isinstance(operations, list) else []
    for operation in (one for one in listed if isinstance(one, Mapping) and one["op"] in ("add", "replace")):
        steps = [s.replace("~1", "/").replace("~0", "~") for s in str(operation["path"]).split("/")[1:]]
        if not any(step == "-" or read_signed(step) is not None for step in steps):
            _put(found, steps, operation["value"])
    return found if isinstance(found.get("metadata") or {}, Mapping) else {**found, "metadata": {}}


def _put(found: dict[str, JSONValue], steps: list[str], value: JSONValue) -> None:
    if not steps:
        found.update(value if isinstance(value, Mapping) else {})
        return
    for step in steps[:-1]:
        present = found.get(step)
        below = dict(present) if isinstance(present, Mapping) else {}
        found[step] = below
        found = below
    found[steps[-1]] = value


def _is_patch(problem: DocumentProblem) -> bool:
    return problem.document is not None and problem.document.obj.get("kind") == KIND


def take_patches_apart(parsed: ParsedFile) -> ParsedFile:
    """Return a file with its patch documents read: those of kind Patch without apiVersion.

    - kubectl would report each as an object whose apiVersion is not set.
    """
    found = [problem.document for problem in parsed.problems if problem.document is not None and _is_patch(problem)]
    if not found:
        return parsed
    documents, problems = list(parsed.documents), [problem for problem in parsed.problems if not _is_patch(problem)]
    for document in found:
        reader = _PatchReader(document)
        patch = reader.read()
        documents += [patch] if patch is not None else []
        problems += reader.problems
    documents.sort(key=lambda document: (document.position.line, document.position.column))
    return replace(parsed, documents=tuple(documents), problems=tuple(problems))


def write_patch(target: ObjectRef, text: str, *, patch_type: PatchType, subresource: str = "") -> str:
    """Return a patch document as YAML; the text of the patch stays as it was written, indented.

    - The text is not parsed: its problems are found when the document is read.
    """
    lines = [f"kind: {KIND}", "target:", f"  apiVersion: {_quote(target.gvk.api_version)}"]
    lines += [f"  kind: {_quote(target.gvk.kind)}", f"  name: {_quote(target.name)}"]
    lines += [f"  namespace: {_quote(target.namespace)}"] if target.namespace else []
    lines += [f"type: {patch_type.value}"]
    lines += [f"subresource: {subresource}"] if subresource else []
    body = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").removeprefix("---\n")
    return "\n".join([*lines, "patch:", *(f"  {line}" if line else "" for line in body.split("\n")), ""])


def _quote(text: str) -> str:
    """Return text as a YAML scalar of any content."""
    return "'" + text.replace("'", "''") + "'"
