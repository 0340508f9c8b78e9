"""Owners of kinds and files: a change of them needs approvals of the team that owns them.

Rule: a plan needs the approvals of each owner of an object that it writes, by the kind of the object, by the file of
its manifest, or by the file from which it was last applied to the cluster: whoever renames a file, leaves it out so
that its objects are pruned, or deletes them, needs its owners too. A Secret that is compared with live counts whether
or not it changes, because everyone sees how many approvals a plan needs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum

from django.db.models import OuterRef, Q, Subquery
from msgspec import Struct

from applyviz import moments
from applyviz.engine.objects.kinds import EVERY_KIND, find_defined_group, list_kind_names, list_same
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.foundation import plan_rows
from applyviz.workflow.foundation.compared import COMPARED, is_compared
from applyviz.workflow.foundation.scopes import fits
from applyviz.workflow.policies.reach import GONE, list_reached

LONGEST = 200
_ANY_FOLDERS = "**"
_NOT_WRITTEN = frozenset(
    operation.value for operation in (Operation.ERROR, Operation.UNCHANGED, Operation.NOT_FOUND, Operation.LEFT_OUT)
)
_LINE = re.compile(r"(?P<of>kind|file):(?P<pattern>\S+)\s+(?P<team>\S+)(?:\s+(?P<approvals>[0-9]{1,4}))?")
_KIND_PATTERN = re.compile(r"\*|([a-z0-9*]([-a-z0-9.*]*[a-z0-9*])?)/([A-Z][A-Za-z0-9]*|\*)")


class OwnerOf(StrEnum):
    """The side of an object with which a pattern of owners is compared."""

    KIND = "kind"
    FILE = "file"


class OwnerRule(Struct, frozen=True):
    """A team whose approvals a plan needs if it writes objects of a kind (`group/Kind`), or of a file.

    - In a pattern `*` matches any text and `?` one character, in files within one folder; a folder `**` matches any
      folders, and a pattern that ends with `/` everything below.
    """

    of: OwnerOf
    pattern: str
    team: str
    approvals: int = 1

    def __str__(self) -> str:
        return f"{self.of.value}:{self.pattern} {self.team} {self.approvals}"


class OwnedObject(Struct, frozen=True):
    """The kind (`group/Kind`) and the file of objects that a plan writes.

    - `group/*`: the objects of any kind of a group, which go with a definition; `*`: all that go with a Namespace.
    """

    kind: str
    file: str


def parse_owner(text: str) -> OwnerRule:
    """Parse `file:deploy/payments/ payments 2`, the `str` of a rule; the number of approvals may be left out.

    - Raises `ValueError` with what is wrong.
    """
    found = _LINE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r}: expected a kind or a file and a team, like `kind:core/Secret security 1`")
    return OwnerRule(OwnerOf(found["of"]), found["pattern"], found["team"], int(found["approvals"] or 1))


def is_pattern(rule: OwnerRule) -> bool:
    """Return whether the pattern of a rule can match anything."""
    if len(rule.pattern) > LONGEST:
        return False
    if rule.of is OwnerOf.KIND:
        return _KIND_PATTERN.fullmatch(rule.pattern) is not None
    return not rule.pattern.startswith("/") and "//" not in rule.pattern


def owns(rule: OwnerRule, written: OwnedObject) -> bool:
    """Return whether a rule names an object that is written."""
    if rule.of is OwnerOf.KIND:
        group, _slash, kind = written.kind.partition("/")
        pattern = rule.pattern.partition("/")[0] if kind == EVERY_KIND else rule.pattern
        return written.kind == EVERY_KIND or fits(pattern, group if kind == EVERY_KIND else written.kind)
    pattern = f"{rule.pattern}{_ANY_FOLDERS}" if rule.pattern.endswith("/") else rule.pattern
    return bool(written.file) and _fits_file(pattern.split("/"), written.file.split("/"))


def _fits_file(pattern: list[str], parts: list[str]) -> bool:
    """Return whether the folders of a file match those of a pattern; costs one step per pair of folders."""
    reached = {0}
    for part in pattern:
        if part == _ANY_FOLDERS:
            reached = set(range(min(reached), len(parts) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fits(part, parts[at])}
    return len(parts) in reached


def list_written(plan: Plan) -> frozenset[OwnedObject]:
    """Return the kinds and files of the objects that a plan writes, each pair once."""
    kept = plan_rows.find_kept(plan)
    if kept is not None:
        rows = (row for row in kept if is_compared(row) or _is_written(row))
        return _name((row.group, row.kind, row.file, _find_deleted(row)) for row in rows)
    changes = plan.changes.order_by()
    written = changes.filter(has_effect=True).exclude(operation__in=_NOT_WRITTEN)
    names = ("group", "kind", "file", GONE)
    return _name((*written.values_list(*names).distinct(), *changes.filter(COMPARED).values_list(*names).distinct()))


def list_moved(plan: Plan) -> frozenset[OwnedObject]:
    """Return the kinds of the objects that a plan writes with the files from which they were last applied."""
    return moments.read_once(("last files of plan", plan.pk), lambda: _name(_find_moved(plan)))


def _find_moved(plan: Plan) -> Iterator[tuple[str, str, str, str]]:
    same = {name: OuterRef(name) for name in ("namespace", "name")}
    applied = ObjectChange.objects.filter(**same, plan__lt=plan.pk, plan__target__cluster=plan.target.cluster_id)
    last = applied.filter(results__outcome__in=Outcome.written()).exclude(file="").order_by("-pk").values("file")
    rows = plan.changes.filter(Q(has_effect=True) & ~Q(operation__in=sorted(_NOT_WRITTEN)) | COMPARED).order_by()
    as_written = last.filter(group=OuterRef("group"), kind=OuterRef("kind"))[:1]
    for group, kind, file in rows.values_list("group", "kind", Subquery(as_written)).distinct():
        yield group, kind, file or "", ""
        for other in {*list_same(group, kind)} - {(group, kind)}:  # the same object, applied in another group
            found = last.filter(group=other[0], kind=other[1])[:1]
            for moved in rows.filter(group=group, kind=kind).values_list(Subquery(found), flat=True).distinct():
                yield group, kind, moved or "", ""


def _is_written(row: ObjectChange) -> bool:
    return row.has_effect and row.operation not in _NOT_WRITTEN


def _find_deleted(row: ObjectChange) -> str:
    """Return the name of what is deleted with everything that goes with it; "" for another row."""
    return row.name if len(list_reached((row.group, row.kind, row.namespace, row.name), row.operation)) > 1 else ""


def _name(rows: Iterable[tuple[str, str, str, str]]) -> frozenset[OwnedObject]:
    """Return what a plan writes: each object under the names of its kind, and what goes with a deleted one."""
    found = set()
    for group, kind, file, gone in rows:
        found |= {OwnedObject(name, file) for name in list_kind_names(group, kind)}
        if gone:
            defined = find_defined_group(group, kind, gone)
            found.add(OwnedObject(f"{defined}/{EVERY_KIND}" if defined else EVERY_KIND, ""))
    return frozenset(found)


def select_owners(rules: Collection[OwnerRule], plan: Plan) -> tuple[OwnerRule, ...]:
    """Return the rules that name an object that a plan writes."""
    if not rules:
        return ()
    written = list_written(plan)
    if any(rule.of is OwnerOf.FILE for rule in rules):
        written |= list_moved(plan)
    return tuple(rule for rule in rules if any(owns(rule, one) for one in written))
