"""Mask the resolutions of conflicts and the edits of files: no value of a Secret, no line that contains one.

Rule: `docs/architecture.md`, invariant 8. A value is masked as at its path in the object, so that both tags are equal;
a patch whose lines contain a masked value loses its lines and keeps its sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from applyviz.engine.diff.embedded import names_secret, parse_embedded
from applyviz.engine.diff.masking import MaskPolicy, is_masked, mask
from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.planning.conflicts.file_edits import FileEdit, FilePatch, drop_lines
from applyviz.engine.planning.conflicts.resolutions import FieldResolutions, ResolutionOption, ResolvedField
from applyviz.engine.planning.model.plan import PlannedObject, Versions

_STYLE = re.compile(r"""^[-+]|[\s"'\\]""", re.MULTILINE)
_TELLING = 4
_START = 8


def _wrap(path: FieldPath, value: JSONValue) -> JSONValue:
    """Return a value at its path, with as much of the object around it as masking needs."""
    for element in reversed(path):
        named = element_value(element)
        if element.startswith("f:"):
            value = {named: value}
        elif element.startswith("k:"):
            value = [{**named, **value} if isinstance(value, Mapping) else value]
        else:
            value = [value]
    return value


def _unwrap(path: FieldPath, value: Any) -> Any:
    for element in path:
        if is_masked(value) and isinstance(value, str):
            return value  # masked as a whole, above the field
        value = value[element_value(element)] if element.startswith("f:") else value[0]
    return value


def _squash(text: str) -> str:
    """Return text without formatting of files or patches: blanks, quotes, escapes, line markers."""
    return _STYLE.sub("", text)


def _list_words(value: JSONValue) -> Iterator[str]:
    """Yield the words that identify a value in a file, however it is wrapped; short words identify nothing alone."""
    if isinstance(value, Mapping | list):
        for below in value.values() if isinstance(value, Mapping) else value:
            yield from _list_words(below)
        return
    text = value if isinstance(value, str) else json.dumps(value)
    for word in [w for w in text.split() if len(w) >= _TELLING] or [text]:
        yield from filter(None, (_squash(word), _squash(json.dumps(word))))


def _list_hidden(raw: JSONValue, shown: JSONValue) -> Iterator[str]:
    """Yield the words that masking removed."""
    if isinstance(raw, Mapping) and isinstance(shown, Mapping):
        for key, value in raw.items():
            yield from _list_hidden(value, shown.get(key))
    elif isinstance(raw, list) and isinstance(shown, list):
        for value, other in zip(raw, shown, strict=False):
            yield from _list_hidden(value, other)
    elif raw != shown:
        inner, left = (parse_embedded(text) if isinstance(text, str) else None for text in (raw, shown))
        yield from _list_words(raw) if inner is None or left is None else _list_hidden(inner, left)


class Hidden:
    """The masked words, indexed by their first letters to search a text in linear time."""

    def __init__(self, words: Iterable[str]) -> None:
        self._starts = frozenset(word[:_START] for word in words)

    def are_in(self, text: str) -> bool:
        """Return whether a text contains the beginning of any of them."""
        squashed = _squash(text)
        return bool(self._starts) and any(
            squashed[at : at + length] in self._starts
            for at in range(len(squashed))
            for length in range(1, min(_START, len(squashed) - at) + 1)
        )


def _unwrap_whole(shown: FieldFinder, path: FieldPath) -> JSONValue:
    """Return what is shown for a field inside a value that is masked as a whole."""
    ends = range(len(path) - 1, -1, -1)
    return next((found for end in ends if (found := shown.find(path[:end])) is not ABSENT), None)


class ResolutionMask:
    """Masks the resolutions of one object; `shown` are its masked versions."""

    def __init__(self, change: PlannedObject, shown: Versions, *, tag_key: bytes, policy: MaskPolicy) -> None:
        self._gvk = change.ref.gvk
        self._scope = "/".join(change.ref.key)
        self._tag_key = tag_key
        self._policy = policy
        raw = change.versions
        versions = ((raw.manifest, shown.manifest), (raw.live, shown.live))
        self._versions = tuple((FieldFinder(one), FieldFinder(masked)) for one, masked in versions if one is not None)
        has_patches = bool(change.open_fields or change.answers)
        self._hidden = Hidden(_list_hidden(raw.manifest, shown.manifest) if has_patches else ())

    def _mask_value(self, path: FieldPath, value: JSONValue) -> JSONValue:
        """Return a value as in the version that it comes from; any other value is masked at its path."""
        for raw, shown in self._versions:
            if is_same_json(raw.find(path), value):
                found: JSONValue = shown.find(path)
                return _unwrap_whole(shown, path) if found is ABSENT else found
        whole = _wrap(path, value)
        obj = whole if isinstance(whole, Mapping) else {}
        masked = mask(obj, gvk=self._gvk, tag_key=self._tag_key, scope=self._scope, policy=self._policy, beside=())
        return _unwrap(path, masked) if masked else value

    def _mask_edit(self, edit: FileEdit | None) -> FileEdit | None:
        if edit is None:
            return None
        before, after = (self._mask_value(edit.path, value) for value in (edit.before, edit.after))
        return replace(edit, before=before, after=None if edit.is_removed else after)

    def mask_patch(self, patch: FilePatch | None, edits: Sequence[FileEdit]) -> FilePatch | None:
        """Return a patch without its lines if they contain a masked value, of the manifest or inserted."""
        if patch is None:
            return None
        shown = [self._mask_edit(edit) for edit in edits]
        is_telling = (
            names_secret(self._gvk.kind)
            or any(edit is not None and (is_masked(edit.before) or is_masked(edit.after)) for edit in shown)
            or self._hidden.are_in(patch.text + patch.reason)
        )
        if is_telling:
            return drop_lines(patch, edits)
        # The lines around an edit may be harmless where other lines of the document are not.
        return replace(patch, edited="", is_whole=False) if self._hidden.are_in(patch.edited) else patch

    def _mask_option(self, path: FieldPath, option: ResolutionOption) -> ResolutionOption:
        patch = self.mask_patch(option.patch, [option.edit] if option.edit else [])
        value = self._mask_value(path, option.value) if option.is_present else None
        return replace(option, value=value, edit=self._mask_edit(option.edit), patch=patch)

    def mask_open_field(self, field: FieldResolutions) -> FieldResolutions:
        """Return the masked resolutions of one field."""
        return replace(field, options=tuple(self._mask_option(field.path, option) for option in field.options))

    def mask_answer(self, answer: ResolvedField) -> ResolvedField:
        """Return one masked resolution of a change."""
        patch = self.mask_patch(answer.patch, [answer.edit] if answer.edit else [])
        return replace(answer, edit=self._mask_edit(answer.edit), patch=patch)
