"""One object as YAML with the owners of every field before and after: who gets a field, and who loses it.

A parent shows no owner here. Runs of lines that stay with one owner and do not change are folded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.known_names import NAMING
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import element_value
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.object_links import link_change
from applyviz.web.components.owners import OwnerChip, present_owner, present_owners
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.workflow.plans.live_values import read_change

MOST_LINES = 1_000
_FOLD_FROM = 5
_LONGEST = 160
_GONE = (FieldOperation.CLEARED,)
_FIRST = ("f:apiVersion", "f:kind", "f:metadata")
# The name of an object has no owner.
_IDENTITY = NAMING | {("f:metadata",)}


class TreeLine(Struct, frozen=True):
    """One line; `style` says what becomes of it, `folded` how many lines it stands for."""

    text: str
    indent: str = ""
    number: int = 0
    before: tuple[OwnerChip, ...] = ()
    after: tuple[OwnerChip, ...] = ()
    note: str = ""
    style: str = ""
    is_leaf: bool = False
    folded: int = 0


class ManagerCount(Struct, frozen=True):
    """One owner of the object, with its fields before and after."""

    owner: OwnerChip
    before: int
    after: int


class OwnerTree(Struct, frozen=True):
    """The tree and its side panel."""

    style: Appearance
    name: str
    source: str
    lines: tuple[TreeLine, ...]
    managers: tuple[ManagerCount, ...]
    nobody: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    conflicts: tuple[str, ...]
    changes_url: str
    is_folded: bool
    has_defaults: bool
    fold_url: str
    defaults_url: str
    is_cut: bool


@dataclass(slots=True)
class _Branch:
    reasons: list[FieldReason] = field(default_factory=list)
    below: dict[str, _Branch] = field(default_factory=dict)


def _grow(reasons: Sequence[FieldReason]) -> _Branch:
    root = _Branch(below={element: _Branch() for element in _FIRST if any(r.path[:1] == (element,) for r in reasons)})
    for reason in reasons:
        branch = root
        for element in reason.path:
            branch = branch.below.setdefault(element, _Branch())
        branch.reasons.append(reason)
    return root


def _write(value: JSONValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and (
        not value or value != value.strip() or "\n" in value or value[0] in "\"'{[&*#?|-<>=!%@"
    ):
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _note(reason: FieldReason, before: JSONValue, after: JSONValue) -> str:
    match reason.operation:
        case FieldOperation.CHANGED if before is not ABSENT and after is not ABSENT:
            return f"{_write(before)} → {_write(after)}"
        case FieldOperation.SET:
            return _("new")
        case FieldOperation.CLEARED:
            return _("removed")
        case FieldOperation.DEFAULTED:
            return _("server default")
        case FieldOperation.CONFLICT:
            return (
                _("conflict: live has %(value)s") % {"value": _write(before)} if before is not ABSENT else _("conflict")
            )
        case FieldOperation.NOT_REMOVED:
            return _("removal blocked")
        case FieldOperation.ALLOCATED:
            return _("chosen by the server")
        case _:
            return ""


def _style(reason: FieldReason) -> str:
    if reason.operation is FieldOperation.CONFLICT:
        return "is-conflict"
    if reason.operation in _GONE:
        return "is-moved is-gone"
    if reason.operation in (FieldOperation.SET, FieldOperation.CHANGED) or _moves(reason):
        return "is-moved"
    return "is-default" if not reason.owners_before and not reason.owners_after else ""


def _moves(reason: FieldReason) -> bool:
    sides = (reason.owners_before, reason.owners_after)
    before, after = ({o.identity for o in owners} for owners in sides)
    return before != after


def _break_line(line: TreeLine) -> TreeLine:
    text = line.text.lstrip(" ")
    return replace(line, text=text, indent=line.text[: len(line.text) - len(text)])


class _Writer:
    """Writes the lines of a tree."""

    def __init__(self, change: PlannedObject, own: str) -> None:
        self._change, self._own = change, own

    def write(self, branch: _Branch, depth: int, lead: str = "") -> Iterator[TreeLine]:
        """The lines below a branch; `lead` opens the first line of a list entry."""
        for element, below in branch.below.items():
            indent = "  " * depth
            head = f"{indent[:-2]}{lead}" if lead else indent
            lead = ""
            if element[0] == "f":
                yield from self._write_field(below, head, f"{element_value(element)}:", depth)
            else:
                yield from self._write_entry(element, below, head, depth)

    def _write_field(self, branch: _Branch, head: str, name: str, depth: int) -> Iterator[TreeLine]:
        for reason in branch.reasons[:1]:
            yield self._write_leaf(reason, f"{head}{name} ")
        if branch.below:
            if not branch.reasons:
                yield _break_line(TreeLine(f"{head}{name}"))
            yield from self.write(branch, depth + 1)

    def _write_entry(self, element: str, branch: _Branch, head: str, depth: int) -> Iterator[TreeLine]:
        for reason in branch.reasons[:1]:
            yield self._write_leaf(reason, f"{head}- ")
        yield from self.write(branch, depth + 1, "- ")

    def _write_leaf(self, reason: FieldReason, head: str) -> TreeLine:
        versions = self._change.versions
        live, after = versions.in_live.find(reason.path), versions.in_after.find(reason.path)
        wanted = versions.in_manifest.find(reason.path) if reason.operation is FieldOperation.CONFLICT else ABSENT
        value = next((v for v in (wanted, after, live) if v is not ABSENT), "")
        if reason.path in _IDENTITY:
            return _break_line(TreeLine(f"{head}{_write(value)}", number=reason.position.line))
        line = TreeLine(
            text=f"{head}{_write(value)}",
            number=reason.position.line,
            before=present_owners(reason.owners_before, you=self._own),
            after=present_owners(reason.owners_after, you=self._own),
            note=_note(reason, live, after),
            style=_style(reason),
            is_leaf=True,
        )
        return _break_line(line)


def _fold(lines: Sequence[TreeLine]) -> Iterator[TreeLine]:
    """The lines with long runs of one owner and no change as one line each."""
    run: list[TreeLine] = []

    def close() -> Iterator[TreeLine]:
        if len(run) >= _FOLD_FROM:
            words = ngettext("… %(count)d line, same owner", "… %(count)d lines, same owner", len(run))
            first = next(line for line in run if line.is_leaf)
            text = words % {"count": len(run)}
            yield replace(first, text=text, indent="", number=0, note="", style="is-fold", folded=len(run))
        else:
            yield from run
        run.clear()

    owner: object = None
    for line in lines:
        if line.style:
            yield from close()
            owner = None
            yield line
            continue
        same = [chip.identity for chip in line.before] if line.is_leaf else owner
        if line.is_leaf and owner is not None and same != owner:
            yield from close()
        owner = same if line.is_leaf else owner
        if not line.is_leaf and not run:
            yield line
        else:
            run.append(line)
    yield from close()


def _count_managers(reasons: Sequence[FieldReason], own: str) -> tuple[ManagerCount, ...]:
    before: Counter[tuple[str, str, str]] = Counter()
    after: Counter[tuple[str, str, str]] = Counter()
    chips: dict[tuple[str, str, str], OwnerChip] = {}
    for reason in reasons:
        for owners, counter in ((reason.owners_before, before), (reason.owners_after, after)):
            for owner in owners:
                chip = present_owner(owner, you=own)
                chips.setdefault(chip.identity, chip)
                counter[chip.identity] += 1
    found = [ManagerCount(chip, before[identity], after[identity]) for identity, chip in chips.items()]
    return tuple(sorted(found, key=lambda one: (not one.owner.is_you, -one.before, one.owner.name)))


def _name_leaf(reason: FieldReason) -> str:
    named = [str(element_value(e)) if e[0] == "f" else _name_entry(e) for e in reason.path]
    return ".".join(part for part in named[-3:] if part)


def _name_entry(element: str) -> str:
    value = element_value(element)
    return str(next(iter(value.values()), "")) if isinstance(value, dict) else str(value)


def _is_default(reason: FieldReason) -> bool:
    """Whether no manager owns a field, before and after: the server fills it in."""
    return reason.path not in _IDENTITY and _style(reason) == "is-default"


def _is_shown(reason: FieldReason) -> bool:
    """Whether a field is a line of the tree: not records of the server, and of the status only what is owned."""
    is_owned = bool(reason.owners_before or reason.owners_after)
    return reason.reason is not Reason.BOOKKEEPING and (is_owned or reason.path[:1] != ("f:status",))


def _link(position: int, *, is_folded: bool, has_defaults: bool) -> str:
    return f"?object={position}{'' if is_folded else '&fold=0'}{'' if has_defaults else '&defaults=0'}"


def present_tree(context: PlanContext, row: ObjectChange, *, is_folded: bool, has_defaults: bool = True) -> OwnerTree:
    """The tree of one object, masked as its reader may see it; `has_defaults`: with the fields that no manager owns."""
    change = read_change(context.plan, row.position)
    own = context.options.field_manager
    reasons = [reason for reason in change.fields if _is_shown(reason)]
    written = [reason for reason in reasons if has_defaults or not _is_default(reason)]
    lines = list(_Writer(change, own).write(_grow(written), 0))
    shown = list(_fold(lines)) if is_folded else lines
    position = change.position
    moved = [reason for reason in reasons if _moves(reason)]
    return OwnerTree(
        style=OBJECT_STYLES[change.operation],
        name=f"{change.ref.gvk.kind}/{change.ref.name}",
        source=f"{position.file}:{position.line}" if position.file else "",
        lines=tuple(shown[:MOST_LINES]),
        managers=_count_managers(reasons, own),
        nobody=sum(not r.owners_after and r.operation not in _GONE and r.path not in _IDENTITY for r in reasons),
        gained=tuple(_name_leaf(r) for r in moved if r.owners_after and not r.owners_before),
        lost=tuple(_name_leaf(r) for r in moved if r.owners_before and not r.owners_after),
        conflicts=tuple(_name_leaf(r) for r in reasons if r.operation is FieldOperation.CONFLICT),
        changes_url=link_change(context.plan, row.position),
        is_folded=is_folded,
        has_defaults=has_defaults,
        fold_url=_link(row.position, is_folded=not is_folded, has_defaults=has_defaults),
        defaults_url=_link(row.position, is_folded=is_folded, has_defaults=not has_defaults),
        is_cut=len(shown) > MOST_LINES,
    )
