"""Parsed files as JSON lines: the messages of the reading child to its parent.

One line per file. JSON and not pickle, because the output of a process that read hostile bytes is data to be checked,
never code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from applyviz.engine.manifests.documents import (
    OWN,
    DocumentProblem,
    DuplicateKey,
    ManifestDocument,
    ObjectPatch,
    ParsedFile,
    PatchType,
    Positions,
    PositionTree,
    Retyped,
    Retyping,
)
from applyviz.engine.objects.accessors import as_list, as_mapping, as_number, as_text
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.json_text import read_json
from applyviz.engine.objects.values import JSONValue


def _place(position: SourcePosition) -> list[int]:
    return [position.line, position.column]


def _encode_document(document: ManifestDocument) -> list[JSONValue]:
    return [
        document.obj,
        [*_place(document.position), document.position.document, document.position.item],
        document.end_line,
        document.positions.tree,
        [[list(r.path), r.text, r.value, r.retyping.value, _place(r.position), r.is_key] for r in document.retyped],
        [[list(d.path), _place(d.first), _place(d.second)] for d in document.duplicates],
        document.list_kind,
        None if document.patch is None else _encode_patch(document.patch),
    ]


def _encode_patch(patch: ObjectPatch) -> list[JSONValue]:
    return [patch.type.value, patch.body, patch.subresource]


def encode_file(parsed: ParsedFile) -> bytes:
    """Return one line for one file."""
    value = [
        [_encode_document(document) for document in parsed.documents],
        [[problem.reason, _place(problem.position), list(problem.path), problem.advice] for problem in parsed.problems],
        parsed.kubectl_stops_after,
        None if parsed.channel is None else _encode_document(parsed.channel),
    ]
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _position(file: str, position: Sequence[JSONValue]) -> SourcePosition:
    return SourcePosition(file, *map(as_number, position))


def _read_path(path: JSONValue) -> tuple[str | int, ...]:
    return tuple(step if isinstance(step, int) else as_text(step) for step in as_list(path))


def _read_tree(tree: JSONValue) -> PositionTree:
    if isinstance(tree, int | dict | list):
        return tree
    raise TypeError("expected the positions of a document")


def _decode_retyped(file: str, value: Sequence[JSONValue]) -> Retyped:
    path, text, read, retyping, at, is_key = value
    position = _position(file, as_list(at))
    return Retyped(_read_path(path), as_text(text), read, Retyping(as_text(retyping)), position, is_key is True)


def _decode_duplicate(file: str, value: Sequence[JSONValue]) -> DuplicateKey:
    path, first, second = value
    return DuplicateKey(_read_path(path), _position(file, as_list(first)), _position(file, as_list(second)))


def _decode_document(file: str, value: Sequence[JSONValue]) -> ManifestDocument:
    obj, position, end_line, tree, retyped, duplicates, list_kind, patch = value
    return ManifestDocument(
        as_mapping(obj),
        _position(file, as_list(position)),
        as_number(end_line),
        Positions(file, _read_tree(tree)),
        tuple(_decode_retyped(file, as_list(one)) for one in as_list(retyped)),
        tuple(_decode_duplicate(file, as_list(one)) for one in as_list(duplicates)),
        as_text(list_kind),
        None if patch is None else _decode_patch(as_list(patch)),
    )


def _decode_patch(value: Sequence[JSONValue]) -> ObjectPatch:
    patch_type, body, subresource = value
    return ObjectPatch(PatchType(as_text(patch_type)), body, as_text(subresource))


def _decode_problem(file: str, value: Sequence[JSONValue]) -> DocumentProblem:
    reason, at, path, advice = value
    where = tuple(map(as_text, as_list(path)))
    return DocumentProblem(as_text(reason), _position(file, as_list(at)), where, advice=as_text(advice))


def _is_tree(tree: PositionTree) -> bool:
    """Return whether every node of a tree of positions is a mark, or a map or list that starts with its own mark."""
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            own = node.get(OWN) if isinstance(node, dict) else next(iter(node), None)
            if type(own) is not int:
                return False
            waiting.extend(node.values() if isinstance(node, dict) else node)
        elif type(node) is not int:
            return False
    return True


def decode_answer(file: str, line: bytes) -> ParsedFile:
    """Return the file that a line of a child describes; raises `ValueError` for any other line.

    - Bytes that take over the child write its line, so every part is checked, also what is read only later.
    """
    try:
        found = decode_file(file, line)
    except (TypeError, RecursionError) as error:
        raise ValueError("the line describes no file") from error
    documents = (*found.documents, *(() if found.channel is None else (found.channel,)))
    if not all(_is_tree(document.positions.tree) for document in documents):
        raise ValueError("the line describes no positions")
    return found


def decode_file(file: str, line: bytes) -> ParsedFile:
    """Return the file that a line of ours describes; raises `ValueError` or `TypeError` for any other line."""
    documents, problems, stops_after, channel = as_list(read_json(line))
    return ParsedFile(
        file,
        tuple(_decode_document(file, as_list(document)) for document in as_list(documents)),
        tuple(_decode_problem(file, as_list(problem)) for problem in as_list(problems)),
        None if stops_after is None else as_number(stops_after),
        None if channel is None else _decode_document(file, as_list(channel)),
    )
