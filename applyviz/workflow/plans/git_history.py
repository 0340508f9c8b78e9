"""What changed in a repository since the last run of the same source, and which commit last changed a line.

The newest commits are frozen with the revision (`sources/git/history.py`): pages read them and ask no server.

Manifests are compared object by object, as two plans read them. They are stored masked with a key of their plan, so the
tags of two plans never match. The tags are taken away: masked values look equal here, and whether one changes is what
the plan itself says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from applyviz.engine.diff.marks import is_masked, remove_tags
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest.serialize import from_json
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange, Plan, Review, SourceRevision
from applyviz.sources.git.blame import OLDER, read_blame
from applyviz.sources.git.model import GIT, MOST_FILES
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.changes import read_masked_core, ref_of

MOST_COMPARED = 100
"""The largest number of objects whose manifests are compared line by line."""
_SAME = ("repository", "path", "kustomization")


@dataclass(frozen=True, slots=True)
class SourceCommit:
    """One commit; `files` it changed below the path of the source, None if its parent was not fetched.

    - `people`: name and address of author and committer; addresses are not shown to readers of a review.
    """

    commit: str
    author: str
    date: str
    subject: str
    parents: tuple[str, ...]
    files: tuple[str, ...] | None
    people: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """What changed since a run.

    - `commits`: newest first, None if the commit of the run is not among those that were fetched.
    """

    run: ApplyRun
    since: str
    commits: tuple[SourceCommit, ...] | None

    @property
    def is_partial(self) -> bool:
        """Return whether some files are not listed, because there are too many or a parent was not fetched."""
        return any(one.files is None or len(one.files) > MOST_FILES for one in self.commits or ())

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that any of the commits changed."""
        found = (name for commit in self.commits or () for name in commit.files or ())
        return tuple(sorted(dict.fromkeys(found)))


def _read_commit(row: JSONObject, people: Iterable[tuple[str, str]]) -> SourceCommit:
    files = row["files"]
    return SourceCommit(
        commit=row["commit"],
        author=row["author"],
        date=row["date"],
        subject=row["subject"],
        parents=tuple(row["parents"]),
        files=None if files is None else tuple(files),
        people=tuple((name, address) for name, address in people),
    )


def list_commits(revision: SourceRevision) -> tuple[SourceCommit, ...]:
    """Return the newest commits of the repository, newest first; () without a repository or a history."""
    facts = revision.provenance.get(GIT, {})
    rows, people = json.loads(facts.get("history") or "[]"), json.loads(facts.get("people") or "{}")
    return tuple(_read_commit(row, people.get(row["commit"], ())) for row in rows)


def is_whole(commits: tuple[SourceCommit, ...]) -> bool:
    """Return whether the commits go back to the first one of the branch."""
    known = {one.commit for one in commits}
    return bool(commits) and all(parent in known for one in commits for parent in one.parents)


def list_since(commits: tuple[SourceCommit, ...], since: str) -> tuple[SourceCommit, ...] | None:
    """Return the commits that `since` does not contain; None if it is not among them.

    Rule: https://git-scm.com/docs/gitrevisions, the range `SINCE..NEWEST`.
    """
    by_id = {one.commit: one for one in commits}
    if since not in by_id:
        return None
    contained, waiting = set(), [since]
    while waiting:
        oid = waiting.pop()
        if oid in contained or oid not in by_id:
            continue
        contained.add(oid)
        waiting.extend(by_id[oid].parents)
    return tuple(one for one in commits if one.commit not in contained)


def select_runs(plan: Plan) -> QuerySet[ApplyRun]:
    """Return the earlier runs that applied the same path of the same repository to the same cluster."""
    facts = plan.revision.provenance[GIT]
    field = f"plan__revision__provenance__{GIT}"  # what is empty is not stored
    same = {f"{field}__{name}": facts[name] for name in _SAME if name in facts}
    absent = {f"{field}__{name}__isnull": True for name in _SAME if name not in facts}
    runs = ApplyRun.objects.filter(
        **same, **absent, state=RunState.APPLIED, plan__target__cluster=plan.target.cluster_id
    )
    earlier = runs.filter(created_at__lt=plan.created_at).exclude(plan=plan)
    return earlier.select_related("plan__revision").order_by("-number")


def _find_last_run(plan: Plan, for_user: Person) -> ApplyRun | None:
    """Return the last of these runs that this person may see."""
    visible = Review.objects.filter(access.select_reviews(for_user)).values("pk")
    return select_runs(plan).filter(plan__review__in=visible).first()


def find_changes(plan: Plan, *, for_user: Person) -> SourceChanges | None:
    """Return what changed in the repository since the last run of the same source; None without a visible one."""
    if not plan.revision.provenance.get(GIT):
        return None
    run = _find_last_run(plan, for_user)
    if run is None:
        return None
    since = str(run.plan.revision.provenance[GIT]["commit"])
    return SourceChanges(run, since, list_since(list_commits(plan.revision), since))


def find_line(revision: SourceRevision, file: str, line: int) -> SourceCommit | None:
    """Return the commit that last changed a line of a file; None if it is older than the history, or unknown."""
    found = revision.files.filter(name=file).values_list("provenance", flat=True).first() or {}
    commits = list_commits(revision)
    number = read_blame(str(found.get("blame", "")), line)
    return commits[number] if number != OLDER and number < len(commits) else None


@dataclass(frozen=True, slots=True)
class ReadManifest:
    """The manifest of one object as a plan read it, masked and without tags, and its position in the source."""

    ref: ObjectRef
    position: SourcePosition
    content: JSONObject


@dataclass(frozen=True, slots=True)
class ManifestDifference:
    """An object whose manifest differs; a side is None where the source did not have it."""

    before: ReadManifest | None
    after: ReadManifest | None

    @property
    def latest(self) -> ReadManifest:
        """Return the newer manifest, of a removed object the older one."""
        found = self.after or self.before
        assert found is not None  # noqa: S101 - one of both is there
        return found


@dataclass(frozen=True, slots=True)
class ManifestDifferences:
    """The objects that differ, in the order of the newer plan, then those that it lacks; `more` are not listed.

    - `holds_masked`: some value of the source is masked, so that it may differ unseen.
    """

    changes: tuple[ManifestDifference, ...]
    more: int
    holds_masked: bool


_Key = tuple[tuple[str, str, str, str], int]


def _read_rows(plan: Plan) -> Iterator[tuple[ObjectChange, SourcePosition]]:
    """Yield the rows of objects that came from the repository, with their positions in it."""
    names = set(plan.revision.files.filter(provenance__has_key=GIT).values_list("name", flat=True))
    for row in plan.changes.defer("sealed").order_by("position").iterator(chunk_size=100):
        position: SourcePosition = from_json(SourcePosition, row.document.get("position", {}))
        if position.file in names:
            yield row, position


def _read_manifests(plan: Plan) -> dict[_Key, ReadManifest]:
    """Return the manifests of a plan; the number distinguishes what one source names twice."""
    found: dict[_Key, ReadManifest] = {}
    for row, position in _read_rows(plan):
        content, ref, number = read_masked_core(row).versions.manifest, ref_of(row), 0
        if content is None:
            continue
        while (ref.key, number) in found:
            number += 1
        found[ref.key, number] = ReadManifest(ref, position, as_mapping(remove_tags(content)))
    return found


def compare_manifests(earlier: Plan, plan: Plan) -> ManifestDifferences:
    """Return how the manifests of a repository differ between two complete plans; reads no secret."""
    before, after = _read_manifests(earlier), _read_manifests(plan)
    changed = [ManifestDifference(before.get(key), one) for key, one in after.items() if _differs(before.get(key), one)]
    removed = [ManifestDifference(one, None) for key, one in before.items() if key not in after]
    found = (*changed, *removed)
    holds_masked = any(is_masked(one.content) for one in (*after.values(), *before.values()))
    return ManifestDifferences(found[:MOST_COMPARED], max(0, len(found) - MOST_COMPARED), holds_masked)


def _differs(before: ReadManifest | None, after: ReadManifest) -> bool:
    return before is None or before.content != after.content
