"""Parsed files as JSON lines: the messages of the reading child to its parent.

One line per file. JSON and not pickle, because the output of a process that read hostile bytes is data to be checked,
never code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from applyviz.engine.manifests.documents import (
    DocumentProblem,
    DuplicateKey,
    ManifestDocument,
    ParsedFile,
    Positions,
    PositionTree,
    Retyped,
    Retyping,
)
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.values import JSONValue


def _place(position: SourcePosition) -> list[int]:
    return [position.line, position.column]


def _encode_document(document: ManifestDocument) -> list[JSONValue]:
    return [
        document.obj,
        _place(document.position),
        document.end_line,
        document.positions.tree,
        [[list(r.path), r.text, r.value, r.retyping.value, _place(r.position), r.is_key] for r in document.retyped],
        [[list(d.path), _place(d.first), _place(d.second)] for d in document.duplicates],
        document.list_kind,
    ]


def encode_file(parsed: ParsedFile) -> bytes:
    """Return one line for one file."""
    value = [
        [_encode_document(document) for document in parsed.documents],
        [[problem.reason, _place(problem.position), list(problem.path)] for problem in parsed.problems],
        parsed.kubectl_stops_after,
    ]
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _position(file: str, place: Sequence[int]) -> SourcePosition:
    return SourcePosition(file, place[0], place[1])


def _decode_document(file: str, value: Sequence[JSONValue]) -> ManifestDocument:
    obj, place, end_line, tree, retyped, duplicates, list_kind = value
    positions: PositionTree = tree
    return ManifestDocument(
        obj,
        _position(file, place),
        end_line,
        Positions(file, positions),
        tuple(
            Retyped(tuple(path), text, read, Retyping(retyping), _position(file, at), is_key)
            for path, text, read, retyping, at, is_key in retyped
        ),
        tuple(
            DuplicateKey(tuple(path), _position(file, first), _position(file, second))
            for path, first, second in duplicates
        ),
        list_kind,
    )


def decode_file(file: str, line: bytes) -> ParsedFile:
    """Return the file that a line describes; raises `ValueError` for any other line."""
    documents, problems, stops_after = json.loads(line)
    return ParsedFile(
        file,
        tuple(_decode_document(file, document) for document in documents),
        tuple(DocumentProblem(reason, _position(file, at), tuple(path)) for reason, at, path in problems),
        stops_after,
    )
