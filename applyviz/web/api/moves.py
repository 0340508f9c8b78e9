"""The list `moves` of a body: what changes hands, and which records of an object are written.

Moves of fields become choices of the plan (`hand-over`, `give`, `take`). A move between the two kinds of apply names
the managers that give up their fields. The two moves of records are operations of a review of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.json_text import write_json
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.requests.options import (
    HANDOVER_MANAGER,
    ApplyMode,
    ApplyOptions,
    Handover,
    SetAction,
    TakenField,
    TakenManager,
)
from applyviz.records.models import Plan
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.web.api.targets import WRITE, EntryReader, find_holder, parse_target
from applyviz.workflow.plans import handovers
from applyviz.workflow.plans.field_names import MOST_FIELDS, FieldHolder, find_path

MOST_MOVES = 100
FILE = "objects.yaml"
_PARTS = ("what", "target", "fields", "managers")
_FLAT = ("hand_over", "hand_over_to", "take_fields", "take_from")


class MoveKind(StrEnum):
    """What a move does."""

    HAND_OVER = "hand-over"
    TAKE = "take"
    GIVE = "give"
    TO_SERVER_SIDE = "to-server-side"
    TO_CLIENT_SIDE = "to-client-side"
    CLEAR_MANAGED_FIELDS = "clear-managed-fields"
    SET_LAST_APPLIED = "set-last-applied"


_OF_FIELDS = (MoveKind.HAND_OVER, MoveKind.GIVE, MoveKind.TAKE)
_MODES = {MoveKind.TO_SERVER_SIDE: ApplyMode.SERVER, MoveKind.TO_CLIENT_SIDE: ApplyMode.CLIENT}
_ACTIONS = {
    MoveKind.CLEAR_MANAGED_FIELDS: SetAction.CLEAR_OWNERSHIP,
    MoveKind.SET_LAST_APPLIED: SetAction.SET_LAST_APPLIED,
}
Hold = Callable[[], Mapping[str, FieldHolder]]


class Move(Struct, frozen=True):
    """One entry of the list; `number` is its position, for problems."""

    number: int
    kind: MoveKind
    target: str
    fields: tuple[str, ...]
    managers: tuple[str, ...]


def _check(reader: EntryReader, move: Move) -> None:
    """Note what a move lacks, and what belongs to another one."""
    if not move.target and (move.kind in _OF_FIELDS or move.kind is MoveKind.CLEAR_MANAGED_FIELDS):
        reader.note(move.number, "target", WRITE)
    if move.kind in _OF_FIELDS and not move.fields:
        reader.note(move.number, "fields", "name the fields, each as .spec.replicas")
    if move.kind not in _OF_FIELDS and move.fields:
        reader.note(move.number, "fields", f"{move.kind} moves no single fields")
    if move.kind in _ACTIONS and move.managers:
        reader.note(move.number, "managers", f"{move.kind} names no managers")
    if move.kind in (MoveKind.HAND_OVER, MoveKind.GIVE) and len(move.managers) > 1:
        reader.note(move.number, "managers", "name one manager, which gets the fields")
    if any(not one.isascii() or not one.isprintable() or " " in one or len(one) > 128 for one in move.managers):
        reader.note(move.number, "managers", "must be names of field managers")


def read_moves(given: JSONObject) -> tuple[Move, ...]:
    """Return the moves of a body, () without any; raises `ProblemsError` with every problem."""
    if "moves" not in given:
        return ()
    reader, found = EntryReader("moves"), []
    for number, entry in reader.read(given["moves"], MOST_MOVES, _PARTS):
        kind = reader.read_choice(number, entry, "what", [one.value for one in MoveKind])
        target = entry.get("target") or ""
        if not isinstance(target, str):
            reader.note(number, "target", WRITE)
        fields, managers = (reader.read_texts(number, entry, name) for name in ("fields", "managers"))
        if kind and isinstance(target, str):
            move = Move(number, MoveKind(kind), target, fields, managers)
            _check(reader, move)
            found.append(move)
        elif not entry.get("what"):
            reader.note(number, "what", f"must be one of {', '.join(MoveKind)}")
    for part in ("fields", "managers"):
        if sum(len(getattr(move, part)) for move in found) > MOST_FIELDS:
            reader.note(0, part, f"name at most {MOST_FIELDS} {part}")
    if any(name in given for name in _FLAT):
        reader.note(0, "", f"name moves of fields in moves or in {', '.join(_FLAT)}, not in both")
    reader.raise_problems()
    return tuple(found)


def _choose_one(
    given: JSONObject, name: str, wanted: Mapping[str, Move], default: str
) -> Iterator[tuple[str, SourceProblem | None]]:
    """Yield the value of a field that moves decide, with a problem if they or the body decide otherwise."""
    stated = given.get(name) or ""
    for value, move in wanted.items():
        others = [other for other in wanted if other != value]
        if (stated not in ("", value)) or others:
            text = f"{move.kind} needs {name} {value}, and {stated or others[0] or default} is asked for too"
            yield value, SourceProblem(text, field=f"moves[{move.number}].what")
        else:
            yield value, None


def _list_managers(moves: tuple[Move, ...]) -> tuple[str, ...]:
    """Return the managers that give up their fields in every object of the set."""
    names = [name for move in moves if move.kind in _MODES and not move.target for name in move.managers]
    return tuple(dict.fromkeys(names))


def expand_moves(given: JSONObject, moves: tuple[Move, ...], *, namespace: str) -> JSONObject:
    """Return the body of a new review with the operation, mode, managers and files that its moves say.

    - Raises `ProblemsError` for moves that cannot be in one review, or that the body contradicts.
    """
    rest: MutableObject = {name: value for name, value in given.items() if name != "moves"}
    actions = {(_ACTIONS.get(move.kind) or SetAction.APPLY).value: move for move in moves}
    modes = {_MODES[move.kind].value: move for move in moves if move.kind in _MODES}
    problems = []
    for name, wanted, default in (("operation", actions, SetAction.APPLY.value), ("mode", modes, "")):
        for value, problem in _choose_one(given, name, wanted, default):
            rest[name] = value
            problems += [problem] if problem else []
    managers = _list_managers(moves)
    if managers:
        rest["take_from"] = ",".join(managers)
    cleared = [move for move in moves if move.kind is MoveKind.CLEAR_MANAGED_FIELDS]
    if cleared and given.get("files"):
        text = "it clears the objects that targets name: leave files out, or use operation for those of the files"
        problems.append(SourceProblem(text, field=f"moves[{cleared[0].number}]"))
    named, unread = _name_objects(cleared, namespace)
    problems += unread
    if problems:
        raise ProblemsError(problems)
    return {**rest, "files": [{"name": FILE, "content": named}]} if cleared else rest


def _name_objects(moves: list[Move], namespace: str) -> tuple[str, list[SourceProblem]]:
    """Return manifests that only name the targets of some moves, and the targets that name no object."""
    documents, problems = [], []
    for move in moves:
        try:
            ref = parse_target(move.target, namespace=namespace)
        except ManifestError as error:
            problems.append(SourceProblem(error.reason, field=f"moves[{move.number}].target"))
            continue
        metadata = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
        obj = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind, "metadata": metadata}
        documents.append(write_json(obj).decode())
    return "\n---\n".join(documents), problems


@dataclass
class _Chooser:
    """Adds moves to options; collects every problem."""

    namespace: str
    latest: Plan | None
    problems: list[SourceProblem] = field(default_factory=list)
    moved: dict[tuple[tuple[str, ...], FieldPath], tuple[str, int]] = field(default_factory=dict)

    def note(self, move: Move, part: str, text: str) -> None:
        self.problems.append(SourceProblem(text, field=f"moves[{move.number}].{part}"))

    def find_paths(self, move: Move, holder: FieldHolder) -> tuple[FieldPath, ...]:
        """Return the fields that a move names; those that the object does not have are problems."""
        found = []
        for name in move.fields:
            path = find_path(name, holder)
            if path is None:
                more = "" if self.latest else "; a field of the live object is taken by the next plan of the review"
                self.note(
                    move, "fields", f"{holder.ref} has no field {name[:300]}{more if move.kind == 'take' else ''}"
                )
            else:
                found.append(path)
        return tuple(found)

    def note_twice(self, move: Move, key: tuple[str, ...], paths: tuple[FieldPath, ...], manager: str) -> None:
        """Note the fields that an earlier move moves elsewhere; `manager` gets them, "" for that of the plan."""
        for path in paths:
            where, number = self.moved.setdefault((key, path), (manager, move.number))
            if where != manager:
                self.note(move, "fields", f"moves[{number}] moves {render_path(path)} elsewhere: name each field once")

    def add(self, options: ApplyOptions, move: Move, holders: Mapping[str, FieldHolder]) -> ApplyOptions:
        """Return the options with one move."""
        holder = find_holder(move.target, holders, namespace=self.namespace) if move.target else None
        if move.target and holder is None:
            self.note(move, "target", f"{move.target[:200]} is no object of this set; {WRITE}")
            return options
        if holder is None or move.kind in _ACTIONS:
            if move.target and len(holders) > 1:
                text = f"{move.kind} is about every object of the set: leave target out, or bring this object alone"
                self.note(move, "target", text)
            return options
        if move.kind in _MODES:
            return self.take_managers(options, move, holder, is_alone=len(holders) == 1)
        paths = self.find_paths(move, holder)
        if move.kind is MoveKind.TAKE:
            self.note_twice(move, holder.ref.key, paths, "")
            return self.take(options, move, holder, paths)
        manager = next(iter(move.managers), HANDOVER_MANAGER if move.kind is MoveKind.HAND_OVER else "")
        if options.mode is ApplyMode.SERVER and not manager:
            self.note(move, "managers", "name the manager that gets the fields")
        if manager == options.field_manager:
            self.note(move, "managers", "name a field manager other than that of the plan")
        self.note_twice(move, holder.ref.key, paths, manager or HANDOVER_MANAGER)
        given = tuple(Handover(holder.ref.key, path, manager or HANDOVER_MANAGER) for path in paths)
        return replace(options, handovers=tuple(dict.fromkeys((*options.handovers, *given))))

    def take_managers(self, options: ApplyOptions, move: Move, holder: FieldHolder, *, is_alone: bool) -> ApplyOptions:
        """Return the options with managers that give up their fields in one object of the set."""
        if not move.managers and not is_alone:
            text = f"{move.kind} is about every object of the set: name the managers that give up their fields in this"
            self.note(move, "managers", f"{text} one, leave target out, or bring this object alone")
        taken = tuple(TakenManager(holder.ref.key, name) for name in move.managers)
        return replace(options, taken_managers=tuple(dict.fromkeys((*options.taken_managers, *taken))))

    def take(
        self, options: ApplyOptions, move: Move, holder: FieldHolder, paths: tuple[FieldPath, ...]
    ) -> ApplyOptions:
        """Return the options with fields taken from the managers of a move; without any, from all others."""
        key = holder.ref.key
        if self.latest is None or holder.change is None:
            taken = [TakenField(key, path, name, is_live=True) for path in paths for name in move.managers or ("",)]
            return replace(options, taken_fields=tuple(dict.fromkeys((*options.taken_fields, *taken))))
        offered = {one.path for one in handovers.list_live_fields(self.latest, holder.change)}
        offered |= {one.path for one in handovers.list_taken(self.latest, holder.ref)}
        owners = read_owners(holder.change.versions.live or {})
        named = (path for path in paths if any(owner.manager in move.managers for owner in owners.of(path)))
        if not set(paths) <= offered.union(named):
            text = f"{holder.ref}: another manager has set none of these fields to another value"
            self.note(move, "fields", text)
        mine = tuple(one.path for one in options.list_taken(key))
        found = handovers.take_live(options, holder.change, tuple(dict.fromkeys((*mine, *paths))))
        if not move.managers:
            return found
        kept = tuple(o for o in found.taken_fields if o.key != key or o.path not in paths or o.manager in move.managers)
        return replace(found, taken_fields=kept)


def add_moves(
    options: ApplyOptions, moves: tuple[Move, ...], hold: Hold, *, latest: Plan | None = None
) -> ApplyOptions:
    """Return the options with the moves of a body; raises `ProblemsError` with every problem.

    - `hold` returns the objects whose fields may be named; `latest`: the plan before, None for a new review.
    """
    if not moves:
        return options
    chooser, holders = _Chooser(options.namespace, latest), hold()
    for move in moves:
        options = chooser.add(options, move, holders)
    if chooser.problems:
        raise ProblemsError(chooser.problems)
    return options


def replan(options: ApplyOptions, moves: tuple[Move, ...], hold: Hold, *, latest: Plan) -> ApplyOptions:
    """Return the options of the next plan, in which ownership moves exactly as a body says.

    - Raises `ProblemsError`; the kind of apply and the operation are those of the review.
    """
    odd = [
        SourceProblem(f"{move.kind} needs a review of its own", field=f"moves[{move.number}].what")
        for move in moves
        if move.kind in _ACTIONS or _MODES.get(move.kind, options.mode) is not options.mode
    ]
    if odd or not options.is_applying:
        raise ProblemsError(odd or [SourceProblem("only a plan that applies manifests moves ownership", field="moves")])
    cleared = replace(options, handovers=(), taken_fields=(), takes_from=_list_managers(moves), taken_managers=())
    return add_moves(cleared, moves, hold, latest=latest)
