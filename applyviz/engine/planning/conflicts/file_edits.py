"""Turn resolutions into edits of the file: a unified patch, or the reason why there is none and what to do.

A patch contains only lines of the edited document, so that it shows nothing of a neighboring Secret; it works with
`patch` and `git apply`. Text that a tool rendered is not edited, because its template is the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from msgspec import Struct

from applyviz.engine.diff.words import align
from applyviz.engine.manifests import editing
from applyviz.engine.manifests.documents import ManifestDocument, PlainPath
from applyviz.engine.objects.errors import ManifestError, SourcePosition
from applyviz.engine.objects.paths import FieldPath, element_value, render_path, render_value
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.conflicts.manifest_paths import list_steps

_CONTEXT = 3
_LONGEST_TEXT = 64_000
_SECRET = re.compile(r"""kind["']?\s*:\s*["']?Secret\b""")
NO_NEWLINE = "\\ No newline at end of file\n"


class FileEdit(Struct, frozen=True):
    """The edit that makes a resolution permanent: the value in the file, and its replacement (`is_removed`: none).

    - `is_added`: the file does not set the field yet.
    """

    path: FieldPath
    before: JSONValue
    after: JSONValue = None
    is_removed: bool = False
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class EditedText:
    """One file of the source; `rendered_by` names the tool that wrote it, "" if a person did."""

    text: str = field(repr=False)
    rendered_by: str = ""


@dataclass(frozen=True, slots=True)
class FilePatch:
    """An edit as a unified patch; without `text`, `reason` says why there is none and what to change.

    - `position` is the first changed line, in the current file.
    - `edited`: the whole document with the edit and its comments, where it was asked for and is not too long.
    - `is_whole`: the document is all of its file.
    """

    position: SourcePosition
    text: str = ""
    reason: str = ""
    edited: str = field(default="", repr=False)
    is_whole: bool = False


def describe_edit(edit: FileEdit) -> str:
    """Return one sentence that says how to edit the file."""
    name = render_path(edit.path).removeprefix(".")
    if edit.is_removed:
        return f"Remove {name}."
    value = render_value(edit.after)
    return f"Set {name} to {value}." if len(value) <= 120 else f"Set {name} to the live value."


def _split(text: str) -> list[str]:
    return text.splitlines(keepends=True) if "\r" not in text else re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _write_line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}"


class _Change(Struct, frozen=True):
    """Lines of the old text that become lines of the new text."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def _pick_context(first: int, last: int, allowed: range, total: int) -> tuple[int, int]:
    """Return how many lines to show before and after: equally many, except at the ends of the file."""
    before, after = min(_CONTEXT, first - allowed.start), min(_CONTEXT, allowed.stop - last)
    if before < _CONTEXT and allowed.start > 0:
        after = min(after, before)
    if after < _CONTEXT and allowed.stop < total:
        before = min(before, after)
    return before, after


def _find_changes(old: Sequence[str], new: Sequence[str]) -> list[_Change]:
    """Return the differing lines of two texts."""
    return [_Change(a, b, c, d) for a, b, c, d, is_same in align(old, new) if not is_same]


def _group(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Yield groups of changes whose contexts would touch, one per hunk."""
    group: list[_Change] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    yield group


def _write_hunk(old: Sequence[str], new: Sequence[str], group: Sequence[_Change], allowed: range) -> str:
    first, last = group[0], group[-1]
    above, below = _pick_context(first.old_start, last.old_end, allowed, len(old))
    lines, at = [], first.old_start - above
    for change in group:
        lines += [_write_line(" ", line) for line in old[at : change.old_start]]
        lines += [_write_line("-", line) for line in old[change.old_start : change.old_end]]
        lines += [_write_line("+", line) for line in new[change.new_start : change.new_end]]
        at = change.old_end
    lines += [_write_line(" ", line) for line in old[at : at + below]]
    count_old = last.old_end - first.old_start + above + below
    count_new = last.new_end - first.new_start + above + below
    head = f"@@ -{first.old_start - above + 1},{count_old} +{first.new_start - above + 1},{count_new} @@\n"
    return head + "".join(lines)


def unify(file: str, before: str, after: str, *, allowed: range) -> tuple[str, int]:
    """Return a unified patch between two texts of a file, and the first line (from 1) that it changes.

    - `allowed`: the lines (from 0) that may be shown around the change.
    """
    old, new = _split(before), _split(after)
    changes = _find_changes(old, new)
    name = file.replace("\n", " ")
    hunks = "".join(_write_hunk(old, new, group, allowed) for group in _group(changes))
    return f"--- a/{name}\n+++ b/{name}\n{hunks}", changes[0].old_start + 1


def _allow(source: str, document: ManifestDocument) -> range:
    """Return the lines of a document, and the separators around it."""
    span = editing.find_span(source, document.position.line)
    first = span.first_line - 1
    lines = len(_split(source[span.start : span.end]))
    total = len(_split(source))
    return range(max(0, first - 1), min(total, first + lines + 1))


def _apply(source: str, document: ManifestDocument, edits: Sequence[FileEdit]) -> str:
    obj = editing.read_original(source, document)
    if obj is None:
        raise ManifestError("the object as applied is not in the file", document.position)
    for edit in edits:
        path: PlainPath = tuple(step for _container, step in list_steps(obj, edit.path))
        missing = edit.path[len(path) :]
        if missing and not (edit.is_added and all(element.startswith("f:") for element in missing)):
            raise ManifestError("the field is not in the file", document.position)
        if edit.is_removed:
            path = editing.widen_removal(obj, path)
        value = editing.REMOVED if edit.is_removed else edit.after
        if missing:
            first, *below = map(element_value, missing)
            path, value = (*path, first), reduce(lambda inner, name: {name: inner}, reversed(below), value)
        source = editing.edit_source(source, document, path, value)
        obj = editing.change_object(obj, path, value)
    return source


def _explain(error: str, edits: Sequence[FileEdit]) -> str:
    return f"{error[:1].upper()}{error[1:]}. {' '.join(map(describe_edit, edits))}"


def _keep_text(edited: str, document: ManifestDocument) -> tuple[str, bool]:
    """Return the edited document, and whether it is all of its file; "" for a list, which holds other objects too."""
    span = editing.find_span(edited, document.position.line)
    text = edited[span.start : span.end].lstrip("\n")
    if document.list_kind or len(text) > _LONGEST_TEXT:
        return "", False
    return text, not (edited[: span.start] + edited[span.end :]).strip("-\r\n ")


def make_patch(
    edits: Sequence[FileEdit],
    *,
    document: ManifestDocument,
    sources: Mapping[str, EditedText],
    keeps_text: bool = False,
) -> FilePatch | None:
    """Return the patch that makes edits in the file of a document; None if there is nothing to edit.

    - If no patch is possible, its `reason` says why, and what to change by hand.
    - `keeps_text`: the patch holds the whole edited document too.
    """
    if not edits:
        return None
    where, source = document.position, sources.get(document.position.file)
    if source is None:
        return FilePatch(where, reason=_explain("the text of the source is not at hand", edits))
    if source.rendered_by:
        reason = f"{source.rendered_by} rendered this text: change what it was rendered from"
        return FilePatch(where, reason=_explain(reason, edits))
    span = editing.find_span(source.text, where.line)
    if document.list_kind and _SECRET.search(source.text[span.start : span.end]):
        return FilePatch(where, reason=_explain("a Secret is in the same list, so its lines are not shown", edits))
    try:
        edited = _apply(source.text, document, edits)
    except ManifestError as error:
        at = error.position if error.position.line else where
        return FilePatch(at, reason=_explain(f"no patch can be made: {error.reason}", edits))
    if edited == source.text:
        return None
    text, line = unify(where.file, source.text, edited, allowed=_allow(source.text, document))
    whole, is_whole = _keep_text(edited, document) if keeps_text else ("", False)
    return FilePatch(SourcePosition(where.file, line), text, edited=whole, is_whole=is_whole)


def drop_lines(patch: FilePatch, edits: Iterable[FileEdit]) -> FilePatch:
    """Return the patch of an object with secret values: where it is and what to do, without any line of the file."""
    what = " ".join(f"Remove {n}." if e.is_removed else f"Change {n}." for e in edits if (n := render_path(e.path)[1:]))
    return FilePatch(patch.position, reason=f"The lines hold secret values, so they are not shown. {what}")
