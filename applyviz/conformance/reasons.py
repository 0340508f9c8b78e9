"""Family `reasons`: a sentence names who caused a difference, and that is who did.

Decided by calculating with and without each input, never by comparing how values are written:

- *your manifest* caused it if the merge of last applied, manifest and live already differs from live there, and the
  answer of the server would be another one without that: if the live object were written as it is.
- *the server* caused it if only its answer differs, or if it did not keep what the merge asks for. A default alone
  replaces no value of live: what removed that is said first.
- *replaced as a whole* is true of a field of which nothing stays that only live has.
- *from the live entry with the same key* is true where live has an entry beside it that shares a key and the value, and
  *by another entry of your manifest* where the manifest has one.
- *lost with the deleted object* is what the manifest does not have, of an object that is deleted and created again.
- *merges by* and *no live entry has the same* name the keys by which this way of applying finds an entry, and live has
  none with them.
- *no longer in the manifest*, *null* and *set* are what the manifest says there, or above; *although your manifest
  contains it* is about the entry.

Exception: the status of kinds whose status controllers write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from applyviz.conformance import covering
from applyviz.conformance.cases import CaseResult
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.inputs import Planned
from applyviz.conformance.shown import ShownObject, ShownRow
from applyviz.engine.merge import patches
from applyviz.engine.merge.last_applied import read_null_annotations
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONValue, get_at
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.walk import find_merge_key

FAMILY = "reasons"
_MOVES = frozenset({"set", "changed", "cleared", "defaulted"})
# What a sentence claims; the first pattern that it has decides.
_CLAIMS = (
    (r"with the ownership of client-side apply", "migration"),
    (r"clears all field owners", "owners"),
    (r"with the deleted object", "old"),
    (r"sets it to false, 0 or an empty value", "set"),
    (r"the order of its entries changes", "order"),
    (r"gets this node port|moves this node port here", "moved"),
    (r"^server default$", "default"),
    (r"^No longer in the manifest.*: the server sets|^You dropped .*: the server sets", "dropped"),
    (r"to null.*: the server sets", "null"),
    (r"keeps only what your manifest sets: the server sets", "whole"),
    (r"server", "server"),
    (r"to null", "null"),
    (r"although your manifest contains it", "shared"),
    (r"from the live entry with the same", "kept"),
    (r"another entry of your manifest with the same", "beside"),
    (r"no longer in the manifest|you dropped", "dropped"),
    (r"keeps only what your manifest sets|replaced as a whole|directive", "whole"),
    (r"what your manifest sets there", "filled"),
    (r"set in your manifest|your manifest changes it|overwritten: .* loses? ", "set"),
    (r"this (entry|value) is new", "new"),
)


def judge(planned: Planned, shown: ShownObject) -> CaseResult:
    """Return the verdict on the sentences of one object."""
    wrong: list[str] = []
    judged = 0
    if planned.change.operation not in (Operation.ERROR, Operation.BLOCKED, Operation.DELETE):
        facts = _Causes(planned)
        rows = dict.fromkeys((*shown.changes, *shown.defaults))
        wrong = [f"{render_path(row.path)}: {row.why!r}: {text}" for row in rows for text in facts.find_wrong(row)]
        judged = facts.judged
    return CaseResult(FAMILY, planned.name, not wrong, "; ".join(wrong[:5]), claims=judged)


def _claim(sentence: str) -> str:
    return next((claim for pattern, claim in _CLAIMS if re.search(pattern, sentence)), "")


class _Causes:
    """The versions of one object, and what would be without the request."""

    def __init__(self, planned: Planned) -> None:
        versions = planned.change.versions
        self._has_status = planned.kind is not None and planned.kind.has_status
        self._live, self._manifest = versions.live or {}, versions.manifest or {}
        self._after = versions.after if versions.after is not None else self._live
        self._merged = _merge(planned)
        self._is_replaced = any(request.method == "DELETE" for request in planned.change.requests)
        self._is_server_side = planned.mode is ApplyMode.SERVER
        is_strategic = planned.kind is not None and planned.kind.is_strategic
        self._root = planned.kind.root if planned.kind is not None and is_strategic else None
        self.judged = 0
        self._without = planned.cluster.write_again(planned.change) or {}

    def find_wrong(self, row: ShownRow) -> Iterator[str]:
        """Yield what is wrong about the sentence of a row."""
        if row.operation not in _MOVES or (self._has_status and row.path[0] == "f:status"):
            return
        claim, path = _claim(row.why), row.path
        if not claim:
            yield "it names nobody"
        if claim in ("", "order"):
            return
        if claim in ("migration", "owners", "old"):
            yield from self._judge_old(path) if claim == "old" else self._judge_records(claim, path)
            return
        if claim == "moved":
            yield from self._judge_moved(row)
            return
        yield from self._judge_author(claim, row)
        self.judged += 1
        if claim == "kept" and not self._is_beside(path, self._live):
            yield "no live entry beside it has that value"
        if claim == "beside" and not self._is_beside(path, self._manifest):
            yield "no other entry of the manifest has that value"
        yield from self._judge_manifest(claim, row)

    def _judge_author(self, claim: str, row: ShownRow) -> Iterator[str]:
        """Judge whether the merge or the server caused a difference."""
        by_manifest, by_server = self._is_of_merge(row.path), self._is_of_server(row.path)
        if claim in ("server", "default") and not by_server:
            yield "it is what the merge asks for"
        if claim not in ("server", "default") and not by_manifest:
            yield "the merge does not ask for it"
        if claim == "default" and by_manifest and self._makes_way(row):
            yield "the manifest removes the value of live"

    def _makes_way(self, row: ShownRow) -> bool:
        """Return whether a row has a live value that the manifest does not have, or sets to null."""
        return row.live is not None and self._find_written(row.path)[0] in (NOTHING, None)

    def _is_beside(self, path: FieldPath, obj: JSONValue) -> bool:
        """Return whether another entry of an object shares a key with that of a path, and has the same value there."""
        entry = _find_entry(path)
        keys, below = json.loads(entry[-1][2:]), path[len(entry) :]
        found = covering.find(obj, entry[:-1])
        twins = [e for e in found if any(e.get(n) == v for n, v in keys.items())] if isinstance(found, list) else []
        return any(not covering.differs(covering.find(twin, below), covering.find(self._after, path)) for twin in twins)

    def _judge_moved(self, row: ShownRow) -> Iterator[str]:
        """Judge where a value went, or came from: another entry of its list has it on the other side."""
        is_gone = row.operation == "cleared"
        other, own = (self._after, self._live) if is_gone else (self._live, self._after)
        entries, moved = covering.find(other, row.path[:-2]), covering.find(own, row.path)
        if not isinstance(entries, list) or all(get_at(e, (row.path[-1][2:],)) != moved for e in entries):
            yield "no other entry has that value"
        if not is_gone and covering.find(self._manifest, row.path) is not NOTHING:
            yield "the manifest has it"

    def _judge_records(self, claim: str, path: FieldPath) -> Iterator[str]:
        """Judge the records of apply itself, which no merge of values has."""
        live, after, wanted = (covering.find(obj, path) for obj in (self._live, self._after, self._manifest))
        if claim == "migration" and not (live is not NOTHING and after is NOTHING and self._is_server_side):
            yield "no server-side apply removes it"
        if claim == "owners" and wanted not in ([], [{}]):
            yield "the manifest does not clear them"

    def _judge_old(self, path: FieldPath) -> Iterator[str]:
        """Judge what goes with an object that is deleted and created again."""
        if not self._is_replaced:
            yield "the object is not deleted"
        if self._find_written(path)[0] not in (NOTHING, None):
            yield "the manifest has it"

    def _judge_manifest(self, claim: str, row: ShownRow) -> Iterator[str]:
        path = _find_entry(row.path) if claim == "shared" else row.path
        written, is_null = self._find_written(path)
        if claim == "dropped" and written is not NOTHING:
            yield "the manifest has it"
        if "Atomic field" in row.why and self._keeps_part(row.path, written):
            yield "a part of it stays that only the live object has"
        if claim == "filled" and not self._makes_room(row.path, written):
            yield "the manifest has nothing else there"
        if claim == "null" and not is_null:
            yield "the manifest has no null there"
        if claim in ("set", "new", "shared") and written is NOTHING:
            yield "the manifest does not have it"
        if claim == "new" and not self._is_new(row):
            yield "entries are found by other keys, or there is one"

    def _is_new(self, row: ShownRow) -> bool:
        """Return whether a sentence names the keys by which entries are found here, and live has none with them."""
        above = (row.path[:n] for n, element in enumerate(row.path, 1) if element[0] in "kv")
        entry = next((one for one in above if covering.find(self._live, one) is NOTHING), ())
        if not entry or entry[-1][0] == "v":
            return bool(entry) and "is a set" in row.why
        keys = json.loads(entry[-1][2:])
        merge_key = find_merge_key(self._root, entry)
        names = [*keys] if self._is_server_side else [merge_key] if merge_key else []
        named = re.findall(r"`\S+` merges by (.+): this|the same `(.+)`: this", row.why)
        found = covering.find(self._live, entry[:-1])
        twins = [e for e in found if all(e.get(n) == keys[n] for n in names)] if isinstance(found, list) else []
        return bool(names) and [*map("".join, named)] == [" and ".join(names)] and not twins

    def _keeps_part(self, path: FieldPath, written: JSONValue) -> bool:
        """Return whether a map keeps a key that the manifest does not have; a default comes again in a new map."""
        live, after = (covering.find(obj, path) for obj in (self._live, self._after))
        if self._is_server_side or not isinstance(live, Mapping) or not isinstance(after, Mapping):
            return False
        others = after.keys() - written.keys() if isinstance(written, Mapping) else set()
        return any(name in live and not covering.differs(after[name], live[name]) for name in others)

    def _makes_room(self, path: FieldPath, written: JSONValue) -> bool:
        """Return whether the manifest has something else there: fields for an empty value, one entry for several."""
        live = covering.find(self._live, path)
        is_one_of_several = path[-1][0] in "kv" and isinstance(live, list)
        return is_one_of_several or (not live and bool(written) and isinstance(written, Mapping | list))

    def _find_written(self, path: FieldPath) -> tuple[JSONValue, bool]:
        """Return what the manifest has at a path, and whether it has a null there or above."""
        found = covering.find(self._manifest, path)
        above = (covering.find(self._manifest, path[:length]) for length in range(1, len(path) + 1))
        is_null = _is_null(found) or any(value is None for value in above)
        if found is NOTHING and isinstance(twins := covering.find(self._manifest, entry := _find_entry(path)), list):
            parts = (covering.find(twin, path[len(entry) :]) for twin in twins)  # several entries of one name
            found = next((part for part in parts if part is not NOTHING), NOTHING)
        if found is NOTHING and path[:1] == ("f:data",) and len(path) > 1:
            found = covering.find(self._manifest, ("f:stringData", *path[1:]))
        return found, is_null

    def _is_of_merge(self, path: FieldPath) -> bool:
        """Return whether the merge already differs there, and the answer would be another one without it."""
        asked = self._is_of_string_data(path) or covering.differs(
            *(covering.find(o, path) for o in (self._live, self._merged))
        )
        return asked and covering.differs(*(covering.find(obj, path) for obj in (self._without, self._after)))

    def _is_of_string_data(self, path: FieldPath) -> bool:
        return path[:1] == ("f:data",) and covering.find(self._merged, ("f:stringData", *path[1:])) is not NOTHING

    def _is_of_server(self, path: FieldPath) -> bool:
        """Return whether the server did not keep what the merge asks for, or acts on the live object alone."""
        if not self._is_of_merge(path):
            return True
        asked, answer = (covering.find(obj, path) for obj in (self._merged, self._after))
        return not self._is_of_string_data(path) and not _keeps(asked, answer)


def _is_null(value: JSONValue) -> bool:
    """Return whether a value is null, or a map of which every field is."""
    return value is None or (isinstance(value, Mapping) and bool(value) and all(map(_is_null, value.values())))


def _find_entry(path: FieldPath) -> FieldPath:
    """Return the path of the list entry that has a field; the path itself without one."""
    return path[: max((n for n, element in enumerate(path, 1) if element[0] == "k"), default=len(path))]


def _keeps(asked: JSONValue, answer: JSONValue) -> bool:
    """Return whether an answer holds every single value that was asked for, however it writes an amount."""
    if asked is NOTHING:
        return answer is NOTHING
    if isinstance(asked, Mapping):
        return not asked or (
            isinstance(answer, Mapping) and all(_keeps(v, answer.get(n, NOTHING)) for n, v in asked.items())
        )
    if isinstance(asked, list):
        if not asked:  # the server may leave an empty list out, or put its default in place of it
            return answer is NOTHING or not answer
        return isinstance(answer, list) and len(asked) == len(answer) and all(map(_keeps, asked, answer))
    if asked is None and answer in ("", "0"):  # what a null among texts, and among amounts, is
        return True
    if answer is NOTHING or asked is None or not asked:
        return answer is NOTHING or not covering.differs(asked, answer)
    return not isinstance(answer, Mapping | list)


def _merge(planned: Planned) -> JSONValue:
    """Return the merge before the server acts: the three-way patch itself, or what server-side apply gives."""
    versions = planned.change.versions
    if planned.mode is ApplyMode.SERVER or versions.live is None or versions.manifest is None:
        return versions.merged or versions.after or {}
    try:
        wanted = read_null_annotations(versions.manifest)
        patch = patches.compute(versions.last_applied, wanted, versions.live, kind=planned.kind)
        return patches.apply(versions.live, patch.body, patch.content_type, kind=planned.kind)
    except MergeError:
        return versions.merged or versions.after or {}
