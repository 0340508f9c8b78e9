"""Family `rows`: the rows of an object are exactly what differs between the live object and the object after apply.

The rows are those that page and API show. They are taken out of both versions, with their values; what remains must be
equal, and each row must differ. Counts, sentences, the operation and the four documents must agree with the rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import reduce

import yaml

from applyviz.conformance import covering
from applyviz.conformance.cases import CaseResult
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.endings import is_gone
from applyviz.conformance.inputs import Planned
from applyviz.conformance.shown import ShownObject, ShownRow
from applyviz.engine.diff.structural import is_equal_in_meaning
from applyviz.engine.diff.yaml_text import below
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at, is_same_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.risks.admission import ADMISSION_CHANGED
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import Topology, of_root

FAMILY = "rows"
# The beginning of what stands in place of a secret.
_MASK = "\u27ea"
_STAYS = frozenset({"conflict", "not-removed", "allocated"})
# What a server fills in that found it empty, and no plan can know.
_ALLOCATES = {
    "Service": ("spec.clusterIP", "spec.clusterIPs", "spec.ports.nodePort", "spec.healthCheckNodePort"),
    "Job": ("spec.selector",),
    "CertificateSigningRequest": ("spec.username", "spec.groups"),
}
_OWNERS_ONLY = "Only field ownership changes; no values change."
_RECORD_ONLY = "Only last-applied changes; no other values change."
_RECORD_TOO = "Only last-applied and field ownership change; no other values change."
_DEFAULTS_ONLY = "The manifest changes no values; the server fills in defaults."
_NO_CHANGE = "No changes: the live object already matches the manifest."
_DELETED = "The object is deleted."
_IN_VAIN = "No changes: the server keeps the live values, although the manifest sets others."


def judge(planned: Planned, shown: ShownObject) -> CaseResult:
    """Return the verdict on what page and API show of one object."""
    judged: list[str] = []
    if planned.change.is_ended or is_gone(planned):
        wrong = list(_judge_end(planned, shown))
    else:
        root = planned.kind.root if planned.kind is not None else None
        found = find_wrong(planned.change, shown, has_status=_has_status(planned), root=root, judged=judged)
        wrong = list(dict.fromkeys(found))
    return CaseResult(FAMILY, planned.name, not wrong, "; ".join(wrong[:5]), claims=len(judged))


def _judge_end(planned: Planned, shown: ShownObject) -> Iterator[str]:
    """An object that a write ends is deleted: the page says so, and shows nothing that would be left of it."""
    if not is_gone(planned):
        yield f"the page says {shown.operation}, and the object stays"
    elif shown.operation != Operation.DELETE.value or shown.empty_text != _DELETED:
        yield f"the page says {shown.operation}, and the object is gone"
    if shown.changes or shown.defaults or shown.answered or planned.change.versions.after is not None:
        yield "rows of an object that is gone"


def _has_status(planned: Planned) -> bool:
    return planned.kind is not None and planned.kind.has_status


def find_wrong(
    change: PlannedObject,
    shown: ShownObject,
    *,
    has_status: bool,
    root: Node | None = None,
    judged: list[str] | None = None,
) -> Iterator[str]:
    """Yield everything that is wrong about the rows of an object; `has_status`: controllers write its status.

    - `root`: the schema of its kind, which says what is an amount.
    - `judged` gets the name of each row and document that was judged.
    """
    if shown.operation != change.operation.value:
        yield f"the page says {shown.operation}, the plan {change.operation}"
    if change.operation is Operation.ERROR:
        if shown.changes or shown.defaults or shown.answered:
            yield "rows of an object that is not written"
        return
    before = change.versions.live
    if before is not None and change.operation is Operation.REPLACE:
        before = _drop_old(before, change.versions.manifest or {})
    after = change.versions.after if change.versions.after is not None else before
    judged = [] if judged is None else judged
    yield from _judge_rows(change, shown, before, after, has_status, judged)
    yield from _judge_counts(shown)
    yield from _judge_answered(change, shown)
    yield from _judge_operation(change, shown, before, after, has_status)
    yield from _judge_documents(change, shown, root, judged)


def _drop_old(before: JSONObject, manifest: JSONObject) -> JSONObject:
    """Return a replaced object without what no row says: its status, and values that the server chooses anew."""
    kept = without_chosen(before, manifest, None)
    return kept if manifest.get("status") is not None else {n: v for n, v in kept.items() if n != "status"}


def _judge_rows(
    change: PlannedObject,
    shown: ShownObject,
    before: JSONObject | None,
    after: JSONObject | None,
    has_status: bool,
    judged: list[str],
) -> Iterator[str]:
    left, right = (covering.strip(obj, has_status=has_status) for obj in (before, after))
    moving = [row for row in (*shown.changes, *shown.defaults) if row.operation not in _STAYS]
    numbers = Counter((row.path, row.rule == "order") for row in dict.fromkeys(moving))
    for (path, _order), count in numbers.items():
        if count > 1:
            yield f"{render_path(path)} has {count} rows"
    for row in dict.fromkeys((*shown.changes, *shown.defaults)):
        yield from _judge_row(row, shown, before, after)
        judged.append(render_path(row.path))
        if row.operation == "allocated":
            yield from _judge_allocated(row, change, before, after)
    for row in sorted(moving, key=_repeats_key):  # without its keys, an entry would not be found
        for obj in (left, right):
            (covering.put_in_order if row.rule == "order" else covering.take_out)(obj, row.path)
    yield from (f"no row: {one}" for one in covering.find_difference(left, right))


def _repeats_key(row: ShownRow) -> bool:
    return len(row.path) > 1 and row.path[-2][0] == "k" and row.path[-1][2:] in json.loads(row.path[-2][2:])


def _judge_allocated(
    row: ShownRow, change: PlannedObject, before: JSONObject | None, after: JSONObject | None
) -> Iterator[str]:
    """Judge that an allocated field is empty in the manifest, and that neither version has a value there."""
    written, *known = (covering.find(obj or {}, row.path) for obj in (change.versions.manifest, before, after))
    name = ".".join(element[2:] for element in row.path if element[0] == "f")
    is_left = written is not NOTHING and _is_empty(written) and all(value is NOTHING for value in known)
    if not is_left or name not in _ALLOCATES.get(change.ref.gvk.kind, ()):
        yield f"{render_path(row.path)} allocated, and it is not left to the server"


def _is_empty(value: JSONValue) -> bool:
    return all(map(_is_empty, value.values())) if isinstance(value, dict) else not value


def _is_leaf(value: JSONValue) -> bool:
    """Return whether a value is one field; what holds fields has rows for them, and none of its own."""
    return value is not NOTHING and not (value and isinstance(value, dict | list))


def _judge_row(row: ShownRow, shown: ShownObject, before: JSONValue, after: JSONValue) -> Iterator[str]:
    """A row holds the values of its field in both versions, and they differ, unless it says that they do not."""
    name = render_path(row.path)
    values = [covering.find(obj or {}, row.path) for obj in (before, after)]
    side = {"set": 0, "cleared": 1}.get(row.operation)
    if side is not None:
        if _is_leaf(values[side]):
            yield f"{name} {row.operation}, and it is there"
        values[side] = NOTHING
    is_same = values[0] is values[1] or (NOTHING not in values and is_same_json(*values))
    if row.rule == "order":
        is_same = [*map(str, values[0])] == [*map(str, values[1])]
    if (row.operation in _STAYS) is not is_same:
        yield f"{name} {row.operation}, and it {'stays' if is_same else 'moves'}"
    if not row.why:
        yield f"{name} has no sentence"
    for text, value in zip((row.live, row.after), values, strict=True):
        if (text is None) is not (value is NOTHING):
            yield f"{name}: shown {text}"
        elif text is not None and not row.is_masked and _MASK not in text and not _prints(text, value, shown):
            yield f"{name}: shown {text}, really {shown.print_value(value)}"


def _prints(text: str, value: JSONValue, shown: ShownObject) -> bool:
    """Return whether a text prints a value; the fields of a map may have any order."""
    printed = shown.print_value(value)
    if text == printed or not isinstance(value, dict | list) or Counter(text) != Counter(printed):
        return text == printed
    try:
        return is_same_json(yaml.safe_load(text), yaml.safe_load(printed))
    except yaml.YAMLError:
        return False


def _judge_counts(shown: ShownObject) -> Iterator[str]:
    real = {"changes": len(shown.changes), "defaulted": len(shown.defaults)}
    for name, count in real.items():
        if shown.counts.get(name, count) != count:
            yield f"{shown.counts[name]} {name} counted, {count} shown"
    if shown.tab not in (None, len(shown.changes)):
        yield f"the tab counts {shown.tab}, {len(shown.changes)} are shown"
    if shown.scroll is not None and Counter(shown.scroll) != Counter(row.path for row in shown.changes):
        yield "the scroll shows other rows"


def _judge_answered(change: PlannedObject, shown: ShownObject) -> Iterator[str]:
    rows = Counter((render_path(row.path), row.live, row.after) for row in shown.changes)
    if Counter(shown.answered) != (rows if change.has_effect else Counter()):
        yield "the API answers other rows"


def _judge_operation(
    change: PlannedObject, shown: ShownObject, before: JSONObject | None, after: JSONObject | None, has_status: bool
) -> Iterator[str]:
    left, right = (covering.strip(obj, has_status=has_status) for obj in (before, after))
    moves = any(covering.find_difference(left, right))
    owners = moves or _compare_records(before) != _compare_records(after)
    wanted = "create" if before is None else "update" if owners else "unchanged"
    if any(request.method == "DELETE" for request in change.requests):
        wanted = "replace"
    if change.operation is not Operation.BLOCKED and shown.operation != wanted:
        yield f"operation {shown.operation}, really {wanted}"
    if not shown.changes and change.operation is not Operation.BLOCKED:
        is_recorded = _find_record(before) != _find_record(after)
        in_vain = any(r.kind is ADMISSION_CHANGED and r.facts["how"] != "added" for r in change.risks)
        is_true = {
            _NO_CHANGE: not owners and not in_vain,
            _IN_VAIN: not owners and in_vain,
            _OWNERS_ONLY: owners and not moves and not is_recorded,
            _RECORD_ONLY: is_recorded and not moves,
            _RECORD_TOO: is_recorded and not moves,
            _DEFAULTS_ONLY: moves and bool(shown.defaults),
        }.get(shown.empty_text, before is None)
        if not is_true:
            yield f"without rows: {shown.empty_text!r}"


def _find_record(obj: JSONObject | None) -> JSONValue:
    return (get_at(obj, ("metadata", "annotations")) or {}).get(LAST_APPLIED)


def _compare_records(obj: JSONObject | None) -> JSONValue:
    """Return the owners of an object, and kubectl's record, in a comparable form."""
    entries = get_at(obj, ("metadata", "managedFields")) or ()
    kept = [{k: v for k, v in e.items() if k != "time" and v} for e in entries if e.get("subresource") != "status"]
    return sorted(map(canonical_json, kept)), _find_record(obj)


def _means_same(topology: Topology | None, left: JSONValue, right: JSONValue) -> bool:
    """Return whether two values hold the same, perhaps an amount in two spellings; documents do not mark it."""
    if isinstance(left, dict) and isinstance(right, dict):
        same = left.keys() == right.keys()
        return same and all(_means_same(below(topology, f"f:{n}"), left[n], right[n]) for n in left)
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(_means_same(below(topology, "i:0"), *pair) for pair in pairs)
    is_amount = topology is not None and topology.is_quantity and NOTHING not in (left, right)
    return not covering.differs(left, right) or (is_amount and is_equal_in_meaning(left, right))


def _is_marked(change: PlannedObject, root: Node | None, path: FieldPath) -> bool:
    """Return whether documents mark what a row says."""
    whole: Topology | None = of_root(root)
    live, after = (covering.find(obj or {}, path) for obj in (change.versions.live, change.versions.after))
    return not _means_same(reduce(below, path, whole), live, after)


def _judge_documents(change: PlannedObject, shown: ShownObject, root: Node | None, judged: list[str]) -> Iterator[str]:
    for name, document in shown.documents.items():
        version = getattr(change.versions, name)
        if _MASK in document.text or not document.is_whole or "kind" not in version:
            continue
        judged.append(name)
        read = parse_manifests(document.text.encode("utf-8", "surrogateescape"), name).documents
        if len(read) != 1 or not is_same_json(read[0].obj, version):
            differences = covering.find_difference(version, read[0].obj if read else None)
            yield f"the document {name} is another: {next(differences, '')}"
    is_both = {"live", "after"} <= set(shown.documents)
    moves = any(row.operation not in _STAYS and _is_marked(change, root, row.path) for row in shown.changes)
    if is_both and moves and not any(shown.documents[n].marked for n in ("live", "after")):
        yield "rows, and no line of the documents is marked"
