"""Parse the bytes of one file to documents with positions, as kubectl would read them.

Rule: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_apply/ and the visitors of k8s.io/cli-runtime.
kubectl stops a file at the first text that cannot be parsed; this reader reports every problem and goes on, and
`ParsedFile.kubectl_stops_after` says where kubectl would have stopped.
"""

from __future__ import annotations

from applyviz.engine.manifests.covers import read_tree
from applyviz.engine.manifests.documents import DocumentProblem, ManifestDocument, ParsedFile
from applyviz.engine.manifests.json_tree import JSONReader, NotJSONError, RefusedValueError
from applyviz.engine.manifests.limits import DEFAULT_LIMITS, ReadLimits
from applyviz.engine.manifests.objects import UNIDENTIFIED, DocumentReader, UnversionedError
from applyviz.engine.manifests.scalars import Scalar
from applyviz.engine.manifests.stream import (
    StreamDocument,
    decode_text,
    is_json_like,
    skip_space_and_line,
    split_documents,
)
from applyviz.engine.manifests.tree_parts import Tree
from applyviz.engine.objects.errors import ManifestError, SourcePosition


class _FileReader:
    def __init__(self, file: str, limits: ReadLimits) -> None:
        self.file = file
        self.limits = limits
        self.documents: list[ManifestDocument] = []
        self.problems: list[DocumentProblem] = []
        self.stops_after: int | None = None
        self._read = 0
        self._cache: dict[str, Scalar] = {}

    def note(self, error: ManifestError, *, ends_reading: bool) -> None:
        document = error.document if isinstance(error, UnversionedError) else None
        self.problems.append(DocumentProblem(error.reason, error.position, error.path, document, error.advice))
        if ends_reading and self.stops_after is None:
            self.stops_after = len(self.documents)

    def _add(self, tree: Tree, end_line: int) -> None:
        if tree.value is None:
            return
        self._read += 1
        for found in DocumentReader(tree, self.file, end_line, self._read).read():
            if isinstance(found, ManifestError):
                # kubectl checks each text for a version and a kind before it reads the rest.
                is_unidentified = found.reason.endswith(UNIDENTIFIED) and not found.path
                self.note(found, ends_reading=is_unidentified)
            else:
                self.documents.append(found)

    def read_yaml(self, text: bytes, first_line: int) -> None:
        for chunk in split_documents(text, self.file, first_line):
            if len(self.documents) > self.limits.documents:
                break
            if isinstance(chunk, ManifestError):
                self.note(chunk, ends_reading=True)
                continue
            try:
                self._add(self._read_chunk(chunk), chunk.end_line)
            except ManifestError as error:
                self.note(error, ends_reading=True)

    def _read_chunk(self, chunk: StreamDocument) -> Tree:
        limit = self.limits.document_bytes
        if len(chunk.text) > limit:
            position = SourcePosition(self.file, chunk.first_line, 1)
            raise ManifestError(f"the document is larger than {limit:,} bytes", position)
        return read_tree(chunk.text, self.file, chunk.first_line, self.limits, self._cache)

    def read_json(self, text: str) -> None:
        reader = JSONReader(self.file, text, self.limits)
        count = 0
        while True:
            end_of_last = reader.at
            if not reader.skip_space():
                return
            try:
                tree = reader.read()
            except NotJSONError as error:
                # After at most one JSON value, kubectl starts over as YAML behind that value.
                start = skip_space_and_line(text, end_of_last) if count <= 1 else None
                if start is None:
                    self.note(error, ends_reading=True)
                else:
                    self.read_yaml(text[start:].encode("utf-8", "replace"), text.count("\n", 0, start) + 1)
                return
            except RefusedValueError as error:
                self.note(error, ends_reading=True)
                count += 1
                continue
            except ManifestError as error:
                self.note(error, ends_reading=True)
                return
            count += 1
            self._add(tree, reader.locate(reader.at)[0])


def parse_manifests(data: bytes, file: str, *, limits: ReadLimits = DEFAULT_LIMITS) -> ParsedFile:
    """Read all documents of a file; never raises, because every problem is part of the result.

    - Documents that are empty or contain only comments are skipped; List kinds are flattened.
    - Values are plain JSON values; aliases share structure, so treat them as frozen.
    """
    if len(data) > limits.file_bytes:
        reason = f"the file is larger than {limits.file_bytes:,} bytes"
        return ParsedFile(file, (), (DocumentProblem(reason, SourcePosition(file)),), 0)
    reader = _FileReader(file, limits)
    text = decode_text(data)
    if is_json_like(text):
        reader.read_json(text)
    else:
        reader.read_yaml(text.encode("utf-8", "replace"), 1)
    documents, problems = tuple(reader.documents), tuple(reader.problems)
    if len(documents) > limits.documents:
        reason = f"more than {limits.documents:,} objects in one file"
        position = documents[limits.documents].position
        return ParsedFile(file, documents[: limits.documents], (*problems, DocumentProblem(reason, position)), 0)
    return ParsedFile(file, documents, problems, reader.stops_after)
