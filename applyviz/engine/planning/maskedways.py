"""The ways out of conflicts and the edits of files as people may see them: nothing of a Secret, no line that holds it.

Rule: `docs/architecture.md`, invariant 8. A value is masked as it would be where it stands in its object, so that its
tag is the same as there; a patch whose lines hold anything that is masked loses its lines and keeps its sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from applyviz.engine.diff.embedded import names_secret, parse_embedded
from applyviz.engine.diff.masking import MaskPolicy, is_masked, mask, mask_text
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.decisions import Answered, FieldWays, WayOut
from applyviz.engine.planning.fileedits import FileEdit, FilePatch, drop_lines
from applyviz.engine.planning.plan import ObjectChange

_STYLE = re.compile(r"""^[-+]|[\s"'\\]""", re.MULTILINE)
_TELLING = 4


def _wrap(path: FieldPath, value: JSONValue) -> JSONValue:
    """A value at its path, with as much of an object around it as masking needs to know it."""
    for element in reversed(path):
        named = element_value(element)
        if element.startswith("f:"):
            value = {named: value}
        elif element.startswith("k:"):
            value = [{**named, **value} if isinstance(value, Mapping) else value]
        else:
            value = [value]
    return value


def _unwrap(path: FieldPath, value: JSONValue) -> JSONValue:
    for element in path:
        if is_masked(value) and isinstance(value, str):
            return value  # masked as a whole, above the field
        value = value[element_value(element)] if element.startswith("f:") else value[0]
    return value


def _squash(text: str) -> str:
    """Text without what depends on how a file or a patch writes it: blank space, quotes, escapes, marks of lines."""
    return _STYLE.sub("", text)


def _list_words(value: JSONValue) -> Iterator[str]:
    """The words by which a value is known in a file, whatever lines it is folded to; short ones tell nothing alone."""
    if isinstance(value, Mapping | list):
        for below in value.values() if isinstance(value, Mapping) else value:
            yield from _list_words(below)
        return
    text = value if isinstance(value, str) else json.dumps(value)
    for word in [w for w in text.split() if len(w) >= _TELLING] or [text]:
        yield from filter(None, (_squash(word), _squash(json.dumps(word))))


def _list_hidden(raw: JSONValue, shown: JSONValue) -> Iterator[str]:
    """The words of what masking took away."""
    if isinstance(raw, Mapping) and isinstance(shown, Mapping):
        for key, value in raw.items():
            yield from _list_hidden(value, shown.get(key))
    elif isinstance(raw, list) and isinstance(shown, list):
        for value, other in zip(raw, shown, strict=False):
            yield from _list_hidden(value, other)
    elif raw != shown:
        inner, left = (parse_embedded(text) if isinstance(text, str) else None for text in (raw, shown))
        yield from _list_words(raw) if inner is None or left is None else _list_hidden(inner, left)


class SettlingMask:
    """Masks what was worked out about the conflicts of one object."""

    def __init__(
        self, change: ObjectChange, *, tag_key: bytes, policy: MaskPolicy, secrets: frozenset[str] = frozenset()
    ) -> None:
        self._gvk = change.ref.gvk
        self._scope = "/".join(change.ref.key)
        self._tag_key = tag_key
        self._policy = policy
        self._secrets = secrets
        self._has_patches = bool(change.ways or change.answers)
        self._hidden = frozenset(self._find_hidden(change)) if self._has_patches else frozenset()

    def _mask(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        return mask(obj, gvk=self._gvk, tag_key=self._tag_key, scope=self._scope, policy=self._policy)

    def _find_hidden(self, change: ObjectChange) -> Iterator[str]:
        bodies = (r.body for r in change.requests if isinstance(r.body, Mapping))
        for obj in filter(None, (change.versions.manifest, change.versions.live, *bodies)):
            yield from _list_hidden(obj, self._mask(obj))

    def _mask_value(self, path: FieldPath, value: JSONValue) -> JSONValue:
        whole = _wrap(path, value)
        shown = _unwrap(path, self._mask(whole)) if isinstance(whole, Mapping) else value
        return mask_text(shown, self._secrets) if isinstance(shown, str) and self._secrets else shown

    def _mask_edit(self, edit: FileEdit | None) -> FileEdit | None:
        if edit is None:
            return None
        before, after = (self._mask_value(edit.path, value) for value in (edit.before, edit.after))
        return replace(edit, before=before, after=None if edit.is_removed else after)

    def mask_patch(self, patch: FilePatch | None, edits: Sequence[FileEdit]) -> FilePatch | None:
        """A patch without its lines when they hold what is masked."""
        if patch is None:
            return None
        text = _squash(patch.text + patch.reason)
        is_telling = names_secret(self._gvk.kind) or any(hidden in text for hidden in self._hidden)
        return drop_lines(patch, edits) if is_telling else patch

    def _mask_way(self, path: FieldPath, way: WayOut) -> WayOut:
        patch = self.mask_patch(way.patch, [way.edit] if way.edit else [])
        value = self._mask_value(path, way.value) if way.is_present else None
        return replace(way, value=value, edit=self._mask_edit(way.edit), patch=patch)

    def mask_ways(self, ways: FieldWays) -> FieldWays:
        """The ways out of one field."""
        return replace(ways, ways=tuple(self._mask_way(ways.path, way) for way in ways.ways))

    def mask_answer(self, answer: Answered) -> Answered:
        """One answer that a change carries."""
        patch = self.mask_patch(answer.patch, [answer.edit] if answer.edit else [])
        return replace(answer, edit=self._mask_edit(answer.edit), patch=patch)
