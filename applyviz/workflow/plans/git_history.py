"""What changed in a repository since the last run of the same source, and which commit last changed a line.

The newest commits are frozen with the revision (`sources/git/history.py`): pages read them and ask no server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import ApplyRun, Plan, SourceRevision
from applyviz.sources.git.blame import UNCOMPARED, read_blame
from applyviz.sources.git.model import GIT, MOST_FILES
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.source_runs.same_source import ComparedSource, find_last_run


class SourceCommit(Struct, frozen=True):
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


class SourceChanges(Struct, frozen=True):
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


def find_changes(plan: Plan, *, for_user: Person) -> SourceChanges | None:
    """Return what changed in the repository since the last run of the same source; None without a visible one."""
    if not plan.revision.provenance.get(GIT):
        return None
    run = find_last_run(plan, ComparedSource.GIT, for_user=for_user)
    if run is None:
        return None
    since = str(run.plan.revision.provenance[GIT]["commit"])
    return SourceChanges(run, since, list_since(list_commits(plan.revision), since))


def find_last_change(revision: SourceRevision, file: str) -> SourceCommit | None:
    """Return the newest commit that changed a file; None if it is older than the history, or unknown."""
    for commit in list_commits(revision):
        if commit.files is None or len(commit.files) > MOST_FILES:
            return None
        if file in commit.files:
            return commit
    return None


class LineChange(Struct, frozen=True):
    """The commit that last changed a line; None if it is older than the history, unknown, or was not compared."""

    commit: SourceCommit | None = None
    is_compared: bool = True


def find_line(revision: SourceRevision, file: str, line: int) -> LineChange:
    """Return which commit last changed a line of a file."""
    found = revision.files.filter(name=file).values_list("provenance", flat=True).first() or {}
    commits = list_commits(revision)
    number = read_blame(str(found.get("blame", "")), line)
    return LineChange(commits[number] if 0 <= number < len(commits) else None, number != UNCOMPARED)
