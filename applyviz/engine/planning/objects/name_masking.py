"""Mask the field paths of a change: a path names list entries by their values, which may be masked.

Rule: `docs/architecture.md`, invariant 8. All paths of a change are masked at once, as the names of managedFields are.
Texts of our own that repeat a path follow it, or are left out; commands that need the value are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from applyviz.engine.diff import plain_names
from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.entry_names import mask_names, write_object
from applyviz.engine.diff.mask_policy import MaskPolicy
from applyviz.engine.diff.masking import make_masker
from applyviz.engine.diff.tags import encode
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.file_edits import FilePatch
from applyviz.engine.planning.conflicts.resolutions import ResolutionOption, ResolvedField
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.risks.model import Risk

_LEFT_OUT = "…"
_Tree: TypeAlias = "dict[str, _Tree]"
_PATCH = "The path names a list entry by a secret value, so the edit is not shown."


class PathNames(Struct, frozen=True):
    """The paths of a change by what is shown of them, and the same for their texts; both are empty if none differs."""

    paths: Mapping[FieldPath, FieldPath]
    texts: Mapping[str, str]

    def show(self, path: FieldPath) -> FieldPath:
        """Return what is shown of a path."""
        return self.paths.get(path, path)

    def show_text(self, text: str) -> str:
        """Return what is shown of a text that may repeat paths; one that names entries otherwise is left out."""
        dotted = f".{text.removeprefix('.')}"
        if dotted in self.texts:
            shown = self.texts[dotted]
            return shown if text.startswith(".") else shown.removeprefix(".")
        return _LEFT_OUT if "[" in text else text


def _list_paths(change: PlannedObject) -> Iterator[FieldPath]:
    yield from (one.path for one in change.fields)
    yield from (one.path for one in change.conflicts)
    yield from (one.path for one in change.open_fields)
    yield from (one.path for one in change.blocked_removals)
    yield from (one.path for one in change.risks)
    for answer in change.answers:
        yield answer.path
        yield from () if answer.edit is None else (answer.edit.path,)
    for field in change.open_fields:
        yield from (option.edit.path for option in field.options if option.edit is not None)


def _plant(paths: Iterable[FieldPath]) -> _Tree:
    root: _Tree = {}
    for path in paths:
        at = root
        for element in path:
            at = at.setdefault(element, {})
    return root


def _pair(raw: _Tree, shown: JSONObject, at: FieldPath, to: FieldPath) -> Iterator[tuple[FieldPath, FieldPath]]:
    """Yield every path and what is shown of it; both maps have one order."""
    for (element, below), (name, under) in zip(raw.items(), shown.items(), strict=True):
        path, named = (*at, element), (*to, name)
        yield path, named
        yield from _pair(below, under if isinstance(under, Mapping) else {}, path, named)


def read_names(
    change: PlannedObject, tag_key: bytes, policy: MaskPolicy, others: Iterable[FieldPath] = ()
) -> PathNames:
    """Return what is shown of every path of a change, and of other paths of its object."""
    raw = _plant((*_list_paths(change), *others))
    gvk = change.ref.gvk
    masker = make_masker({}, gvk, tag_key, "/".join(change.ref.key), policy, None, None)
    is_secret = names_secret(gvk.kind)
    key = None if is_secret else plain_names.make_key(raw, gvk, masker.policy)
    if plain_names.are_plain(key):
        return PathNames({}, {})
    written = write_object(raw)
    fields = written if isinstance(written, Mapping) else {}
    shown = masker.mask_object(fields, (), is_secret=is_secret)
    masked = mask_names(raw, shown, lambda path: masker.tags.make(encode(path[-1]), path), is_sorted=False)
    if masked == raw:
        plain_names.remember(key)
        return PathNames({}, {})
    paths = dict(_pair(raw, masked, (), ()))
    return PathNames(paths, {render_path(one): render_path(other) for one, other in paths.items()})


def _mask_conflict(conflict: Conflict, names: PathNames) -> Conflict:
    path = names.show(conflict.path)
    if path == conflict.path:
        return conflict
    return replace(conflict, path=path, message=f'conflict with "{conflict.manager}"', field=render_path(path))


def mask_risk_names(risk: Risk, names: PathNames) -> Risk:
    """Return a risk whose path and facts show no masked name."""
    path = names.show(risk.path)
    facts = {name: names.show_text(fact) for name, fact in risk.facts.items()}
    if path != risk.path and "value" in facts:
        facts["value"] = _LEFT_OUT
    return replace(risk, path=path, facts=facts)


_Edited = TypeVar("_Edited", ResolutionOption, ResolvedField)


def _withhold_patch(patch: FilePatch | None) -> FilePatch | None:
    return patch and replace(patch, text="", edited="", is_whole=False, reason=_PATCH)


def _mask_edited(one: _Edited, names: PathNames) -> _Edited:
    if one.edit is None or names.show(one.edit.path) == one.edit.path:
        return one
    return replace(one, edit=replace(one.edit, path=names.show(one.edit.path)), patch=_withhold_patch(one.patch))


def mask_paths(change: PlannedObject, names: PathNames) -> PlannedObject:
    """Return a change, masked otherwise, whose paths show no masked name."""
    if not names.paths:
        return change
    show = names.show
    removals = (
        removal if show(removal.path) == removal.path else replace(removal, path=show(removal.path), command="")
        for removal in change.blocked_removals
    )
    edits = (answer.edit for answer in change.answers if answer.edit is not None)
    hides_patch = any(show(edit.path) != edit.path for edit in edits)
    return replace(
        change,
        patch=_withhold_patch(change.patch) if hides_patch else change.patch,
        fields=tuple(replace(one, path=show(one.path), detail=names.show_text(one.detail)) for one in change.fields),
        conflicts=tuple(_mask_conflict(one, names) for one in change.conflicts),
        risks=tuple(mask_risk_names(one, names) for one in change.risks),
        blocked_removals=tuple(removals),
        open_fields=tuple(
            replace(one, path=show(one.path), options=tuple(_mask_edited(option, names) for option in one.options))
            for one in change.open_fields
        ),
        answers=tuple(_mask_edited(replace(one, path=show(one.path)), names) for one in change.answers),
    )


def show_paths(change: PlannedObject, tag_key: bytes, policy: MaskPolicy, paths: Sequence[FieldPath]) -> list[str]:
    """Return paths of the object of a change as texts that show no masked name."""
    names = read_names(change, tag_key, policy, paths)
    return [render_path(names.show(path)) for path in paths]
