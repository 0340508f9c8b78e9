"""Calculate what an apply with prune, or a deletion, does to the objects of a cluster that was given as text.

The plan is that of reviews (`SetPlanner`), against a cluster in memory; then its writes and its deletions are sent to
that cluster, and what finalizers and the garbage collector make of them is read back. Nothing else is calculated here.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.diff.masking import MaskPolicy, mask
from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.manifests.documents import ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import ApplyVizError, SchemaError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import FOREGROUND
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject, PlannedSet, StayReason
from applyviz.engine.planning.objects.context import EarlierRun, PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.applyset import ApplySetError, find_parent
from applyviz.engine.risks.model import Risk
from applyviz.engine.schema.crds import defines_kind
from applyviz.engine.schema.sources import SourceChain
from applyviz.guide.given import PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.guide.given_sets import SetQuery, SetTask
from applyviz.guide.playground import encode_data, explain_problems, find_policy, read_text
from applyviz.guide.stored_cluster import StoredCluster, StoredObject, is_of_kind, read_definitions
from applyviz.sandbox.api.estimates import with_estimates

TEXTS = ("manifest", "before", "cluster")
_AT_LINE = re.compile(r"before:([0-9]{1,9})(?::[0-9]+)?: (.*)", re.DOTALL)


class SetOutcome(StrEnum):
    """The result for one object.

    - COLLECTED: the garbage collector deletes it, or its namespace or its definition takes it along.
    - WAITING: it is marked for deletion, and stays until its finalizers are removed.
    - ORPHANED: an owner of it is deleted, and it stays without that owner.
    """

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    PRUNED = "pruned"
    DELETED = "deleted"
    COLLECTED = "collected"
    WAITING = "waiting"
    ORPHANED = "orphaned"
    KEPT = "kept"
    ABSENT = "absent"
    REFUSED = "refused"


class SetRow(Struct, frozen=True):
    """One object and what becomes of it.

    - `is_planned`: the plan deletes it itself; `is_ended`: by a write that ends a deletion that had begun; `is_parent`:
      it is the parent of the ApplySet.
    - `taker`: what takes it along, or left it behind, or of an object that is kept, will take it along; `finalizers`:
      what it waits for; `stays`: why prune leaves it, None where no rule of prune says so; `error`: why it is refused.
    """

    ref: ObjectRef
    outcome: SetOutcome
    is_planned: bool = False
    is_ended: bool = False
    is_parent: bool = False
    taker: ObjectRef | None = None
    finalizers: tuple[str, ...] = ()
    stays: StayReason | None = None
    error: str = ""
    risks: tuple[Risk, ...] = ()

    @property
    def waits_for_dependents(self) -> bool:
        """Whether dependents that have finalizers keep it."""
        return self.finalizers == (FOREGROUND,)


class SetAnswer(Struct, frozen=True):
    """The rows, those that go first, and the problems of the set, which keep everything from being pruned."""

    rows: tuple[SetRow, ...]
    problems: tuple[str, ...] = ()


_WRITES = {
    Operation.CREATE: SetOutcome.CREATED,
    Operation.UPDATE: SetOutcome.UPDATED,
    Operation.REPLACE: SetOutcome.UPDATED,
    Operation.UNCHANGED: SetOutcome.UNCHANGED,
    Operation.NOT_FOUND: SetOutcome.ABSENT,
}
_SENT = (Operation.CREATE, Operation.UPDATE, Operation.REPLACE)
_ORDER = tuple(SetOutcome)
_GOES_FIRST = (SetOutcome.PRUNED, SetOutcome.DELETED, SetOutcome.COLLECTED, SetOutcome.WAITING, SetOutcome.ORPHANED)


def read_texts(given: SetQuery) -> dict[str, ParsedFile]:
    """Return the texts as objects.

    - Raises `PlaygroundQueryError` with every problem of every text.
    """
    files = {part: read_text(part, getattr(given, part)) for part in TEXTS}
    problems = [problem for file in files.values() for problem in explain_problems(file)]
    if not files["manifest"].documents and not problems:
        problems.append(PlaygroundQueryProblem("manifest", "expected at least one object"))
    if problems:
        raise PlaygroundQueryError(tuple(problems))
    return files


def encode(document: ManifestDocument) -> ManifestDocument:
    """Return a document with its masks as a Secret may hold them."""
    return replace(document, obj=encode_data(document.obj))


def _fill(files: Mapping[str, ParsedFile], catalog: SourceChain, given: SetQuery, now: str) -> StoredCluster:
    """Return the cluster: first its definitions, then what was applied, then its other objects."""
    cluster = StoredCluster(catalog, namespace=given.namespace, now=now)
    problems: list[PlaygroundQueryProblem] = []
    others = list(enumerate(files["cluster"].documents))
    definitions = [one for one in others if one[1].ref.gvk.kind == "CustomResourceDefinition"]
    rest = [(at, encode(one)) for at, one in others if one.ref.gvk.kind != "CustomResourceDefinition"]
    for at, document in definitions:
        problems += _name_problem(at, cluster.hold(document))
    if files["before"].documents:
        applied = replace(files["before"], documents=tuple(map(encode, files["before"].documents)))
        found = cluster.apply(applied, given.apply_options)
        problems += [_name_applied(applied, reason) for reason in found]
    for at, document in rest:
        problems += _name_problem(at, cluster.hold(document))
    if problems:
        raise PlaygroundQueryError(tuple(problems))
    cluster.add_namespaces(files["manifest"].documents)
    return cluster


def _name_applied(file: ParsedFile, reason: str) -> PlaygroundQueryProblem:
    """Return an error of the earlier apply; where it begins with a line, with the object that has this line."""
    found = _AT_LINE.fullmatch(reason)
    for at, document in enumerate(file.documents):
        if found is not None and document.position.line <= int(found[1]) <= document.end_line:
            return PlaygroundQueryProblem("before", found[2], at)
    return PlaygroundQueryProblem("before", reason)


def _name_problem(document: int, reason: str) -> Iterator[PlaygroundQueryProblem]:
    if reason:
        yield PlaygroundQueryProblem("cluster", reason, document)


def _plan(documents: Sequence[ManifestDocument], cluster: StoredCluster, given: SetQuery, now: str) -> PlannedSet:
    options = given.options
    earlier = EarlierRun("", options, (), tuple(one.ref for one in cluster.objects))
    context = PlanningContext(cluster.catalog, now, earlier=None if given.is_deletion else earlier)
    planner = SetPlanner([encode(one) for one in documents], options=options, context=with_estimates(context))
    for _change in drive(planner, lambda requests: [cluster.answer(request) for request in requests]):
        pass
    return planner.plan()


def _apply(plan: PlannedSet, cluster: StoredCluster) -> None:
    """Send the writes of a plan, which come before all its deletions: an object may get or lose its owners by them."""
    for change in plan.changes:
        if change.operation in _SENT:
            cluster.carry_out(change)
    cluster.read_again()


def _delete(plan: PlannedSet, cluster: StoredCluster) -> None:
    """Send the deletions of a plan in its order; one that the deletion of another took along is gone."""
    for change in plan.changes:
        if change.is_ended:
            cluster.carry_out(change)
        for request in change.requests:
            if request.method == "DELETE":
                body = {key: value for key, value in request.body.items() if key != "preconditions"}
                cluster.answer(Request("DELETE", request.path, request.query, request.content_type, body))


def _list_owners(stored: StoredObject) -> set[JSONValue]:
    """Return the uids of the owners of an object."""
    return {owner.get("uid") for owner in get_at(stored.obj, ("metadata", "ownerReferences")) or ()}


def _find_taker(stored: StoredObject, gone: Sequence[StoredObject]) -> ObjectRef | None:
    """Return the deleted object that an object belonged to: an owner, its namespace, or the definition of its kind."""
    owners = _list_owners(stored)
    for one in gone:
        is_space = one.ref.gvk.kind == "Namespace" and one.ref.name == stored.ref.namespace
        if one.uid in owners or is_space or is_of_kind(stored.ref, one.obj):
            return one.ref
    return None


def _lost_owner(stored: StoredObject, now: JSONObject) -> bool:
    before, after = (get_at(one, ("metadata", "ownerReferences")) or () for one in (stored.obj, now))
    return len(after) < len(before)


class _Ended(Struct, frozen=True):
    """The objects after the deletions; `going` are being deleted, or gone."""

    now: Mapping[str, JSONObject | None]
    going: tuple[StoredObject, ...]


def _read_end(cluster: StoredCluster) -> _Ended:
    now = {one.path: cluster.read(one.path) for one in cluster.objects}
    going = [one for one in cluster.objects if get_at(now[one.path] or _GONE, ("metadata", "deletionTimestamp"))]
    return _Ended(now, tuple(going))


_GONE: JSONObject = {"metadata": {"deletionTimestamp": "gone"}}


def _end_row(stored: StoredObject, ended: _Ended, change: PlannedObject | None, stays: StayReason | None) -> SetRow:
    """Return what became of an object of the cluster that no write of the plan is about."""
    row, found = SetRow(stored.ref, SetOutcome.KEPT), ended.now[stored.path]
    taker = _find_taker(stored, ended.going)
    if change is not None:
        row = replace(row, is_planned=True, is_ended=change.is_ended, risks=change.risks)
    if found is None:
        pruned = SetOutcome.PRUNED if change is not None and change.operation is Operation.PRUNE else SetOutcome.DELETED
        return replace(row, outcome=SetOutcome.COLLECTED if change is None else pruned, taker=taker)
    if stored in ended.going:
        finalizers = tuple(get_at(found, ("metadata", "finalizers")) or get_at(found, ("spec", "finalizers")) or ())
        return replace(row, outcome=SetOutcome.WAITING, finalizers=finalizers, taker=taker)
    if _lost_owner(stored, found):
        return replace(row, outcome=SetOutcome.ORPHANED, taker=taker)
    goes_later = _list_owners(stored) <= {one.uid for one in ended.going}  # they wait for their finalizers
    return replace(row, stays=stays, taker=taker if goes_later else None)


def _find_parent(given: SetQuery, catalog: SourceChain) -> ObjectRef | None:
    if given.task is not SetTask.APPLYSET:
        return None
    try:
        return find_parent(given.applyset, namespace=given.namespace, catalog=catalog).ref
    except ApplySetError:  # a problem of the plan
        return None


def _list_writes(plan: PlannedSet, parent: ObjectRef | None) -> Iterator[SetRow]:
    """Yield a row for each object that the plan writes, refuses or does not find."""
    for change in plan.changes:
        if change.operation not in DELETIONS:
            outcome, is_parent = _WRITES.get(change.operation, SetOutcome.REFUSED), change.ref == parent
            yield SetRow(change.ref, outcome, is_parent=is_parent, error=change.error, risks=change.risks)


def _list_rows(plan: PlannedSet, cluster: StoredCluster, given: SetQuery) -> Iterator[SetRow]:
    deletions = {change.ref.key: change for change in plan.changes if change.operation in DELETIONS}
    stays = {one.ref.key: one.why for one in plan.staying}
    ended = _read_end(cluster)
    written = {row.ref.key: row for row in _list_writes(plan, _find_parent(given, cluster.catalog))}
    for stored in cluster.objects:
        key = stored.ref.key
        row = _end_row(stored, ended, deletions.get(key), stays.get(key))
        if key not in written or row.outcome in _GOES_FIRST:
            yield row
            written.pop(key, None)
    yield from written.values()


def _rank(row: SetRow) -> tuple[int, int]:
    return (0 if row.outcome in _GOES_FIRST else 1, _ORDER.index(row.outcome))


def explain_set(given: SetQuery, *, now: str) -> SetAnswer:
    """Return what becomes of every object that the manifests name or the cluster has.

    - `now` is RFC 3339 in UTC. Raises `PlaygroundQueryError`.
    """
    files = read_texts(given)
    catalog = read_catalog((*files["cluster"].documents, *files["before"].documents))
    cluster = _fill(files, catalog, given, now)
    try:
        plan = _plan(files["manifest"].documents, cluster, given, now)
        _apply(plan, cluster)
    except ApplyVizError as error:
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", str(error)),)) from None
    _delete(plan, cluster)
    rows = sorted(_list_rows(plan, cluster, given), key=_rank)
    return SetAnswer(tuple(rows), tuple(problem.reason for problem in plan.problems))


def read_catalog(documents: Iterable[ManifestDocument]) -> SourceChain:
    """Return the kinds of the cluster of a question. Raises `PlaygroundQueryError`."""
    try:
        return read_definitions(documents)
    except SchemaError as error:
        raise PlaygroundQueryError((PlaygroundQueryProblem("cluster", str(error)),)) from None


def without_secrets(given: SetQuery) -> SetQuery:
    """Return the question without secrets: texts that contain secrets are rewritten with masked values.

    - Raises `PlaygroundQueryError`; an unreadable text cannot be masked.
    """
    files = read_texts(given)
    documents = [document for file in files.values() for document in file.documents]
    definitions = [one for one in documents if one.ref.gvk.kind == "CustomResourceDefinition" and defines_kind(one.obj)]
    policy = find_policy(documents, definitions)
    key = secrets.token_bytes(32)
    manifest, before, cluster = (mask_text(getattr(given, part), files[part], key, policy) for part in TEXTS)
    return replace(given, manifest=manifest, before=before, cluster=cluster)


def mask_text(text: str, file: ParsedFile, key: bytes, policy: MaskPolicy) -> str:
    """Return a text, rewritten with masked values if it contains secrets."""
    shown = [
        mask(one.obj, gvk=one.ref.gvk, tag_key=key, scope="/".join(one.ref.key), policy=policy)
        for one in file.documents
    ]
    pairs = zip(file.documents, shown, strict=True)
    has_secrets = any(one.ref.gvk.kind == "Secret" or masked != one.obj for one, masked in pairs)
    return "---\n".join(render_yaml(None, masked) for masked in shown) if has_secrets else text
