"""The commits of a plan since the last approved one, recorded with the people behind them when the plan is requested.

Rule: every plan of a review that follows, or followed, a branch has such a range if its manifests come from the
repository: also one that a person requested, so that a re-plan of pushed manifests forgets nobody. Commits between are
those of the fetched history. If the last approved commit is not among them, all known commits count; the range has a
gap unless they go back to the first commit of the branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from applyviz.records.enums import PlanState
from applyviz.records.git_enums import EditorRole, HistoryGap
from applyviz.records.models import ApplyRun, CommitEditor, CommitRange, Following, Plan
from applyviz.sources.git.addresses import locate
from applyviz.sources.git.model import GIT
from applyviz.workflow.approvals import quorum
from applyviz.workflow.people.commit_people import GitPerson, list_pushes, read_person
from applyviz.workflow.people.push_coverage import PushMove, list_tips
from applyviz.workflow.plans import git_history, git_sources, reviews
from applyviz.workflow.plans.git_history import SourceCommit
from applyviz.workflow.plans.source_runs.same_source import select_git_runs

_LOOKED_BACK = 50


@dataclass(frozen=True, slots=True)
class _Base:
    """The last approved plan of a source, and its commit."""

    plan: Plan | None = None
    commit: str = ""


def _is_approved(plan: Plan) -> bool:
    """Return whether a plan has all approvals now, or ran with them."""
    runs = ApplyRun.objects.filter(plan=plan, plan__emergency_apply=None)
    if runs.exists():
        return True
    if plan.state != PlanState.COMPLETE or not quorum.list_given(plan):
        return False
    return not quorum.count_quorum(plan).missing


def _find_base(plan: Plan, location: str) -> _Base:
    """Return the last approved plan: of the review, else of the last run of the same source on the cluster."""
    earlier = Plan.objects.filter(review=plan.review_id, number__lt=plan.number).select_related("revision", "review")
    for one in earlier.select_related("target__cluster", "requested_by").order_by("-number")[:_LOOKED_BACK]:
        if _locate(one) == location and _is_approved(one):
            return _Base(one, git_sources.find_commit(one.revision))
    run = select_git_runs(plan).filter(plan__emergency_apply=None).first()
    return _Base() if run is None else _Base(run.plan, git_sources.find_commit(run.plan.revision))


def _locate(plan: Plan) -> str:
    return locate(str(plan.revision.provenance.get(GIT, {}).get("repository", "")))


def _choose_commits(known: tuple[SourceCommit, ...], base: str) -> tuple[tuple[SourceCommit, ...], str]:
    """Return the commits since a base, and why they may not be all."""
    if not known:
        return (), HistoryGap.UNREAD
    since = git_history.list_since(known, base) if base else None
    if since is not None:
        return since, ""
    return known, HistoryGap.BASE_LOST if base and not git_history.is_whole(known) else ""


def _list_people(commits: Iterable[SourceCommit], host: str) -> Iterator[tuple[EditorRole, GitPerson, str]]:
    """Yield author and committer of each commit that changed a file of the source, or may have."""
    for commit in commits:
        if commit.files == ():
            continue
        for role, (name, address) in zip((EditorRole.AUTHOR, EditorRole.COMMITTER), commit.people, strict=False):
            person = read_person(role, name, address, host=host)
            if person is not None:
                yield role, person, commit.commit


def _make_editor(plan: Plan, role: EditorRole, person: GitPerson, commit: str) -> CommitEditor:
    return CommitEditor(
        plan=plan,
        role=role,
        name=person.name[:200],
        email=person.email[:320],
        login=person.login[:400],
        commit=commit,
    )


def record_commits(plan: Plan) -> None:
    """Record the commits of a new plan in the caller's transaction; does nothing for a review that never followed."""
    following = Following.objects.filter(review=plan.review_id).order_by("-pk").first()
    location = _locate(plan)
    if following is None or location != following.location or CommitRange.objects.filter(plan=plan).exists():
        return
    base = _find_base(plan, location)
    known = git_history.list_commits(plan.revision)
    commits, gap = _choose_commits(known, base.commit)
    found = CommitRange.objects.create(
        plan=plan,
        location=location,
        branch=following.branch,
        base=base.commit,
        base_plan=base.plan,
        first_commit=following.first_commit,
        commits=[one.commit for one in commits],
        graph={one.commit: list(one.parents) for one in known},
        gap=gap,
    )
    people = _list_people(commits, location.partition("/")[0])
    CommitEditor.objects.bulk_create([_make_editor(plan, *one) for one in people], ignore_conflicts=True)
    add_pushers(found)


def add_pushers(found: CommitRange) -> None:
    """Add who pushed commits of a plan, also to tips that a force push removed; what is known already stays."""
    pushes = list_pushes(found)
    moves = [PushMove(push.before, push.after) for push in pushes]
    tips = list_tips(found.graph, found.commits, moves) if found.commits else frozenset()
    rows = [
        _make_editor(found.plan, EditorRole.PUSHER, GitPerson(push.name, push.email, push.login), push.after)
        for push in pushes
        if push.after in tips
    ]
    CommitEditor.objects.bulk_create(rows, ignore_conflicts=True)


reviews.note_commits = record_commits
