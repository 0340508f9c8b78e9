"""The commits of a plan since the last approved one, recorded with the people behind them when the plan is requested.

Rule: every plan of a review that follows, or followed, a branch has such a range if its manifests come from the
repository: also one that a person requested, so that a re-plan of pushed manifests forgets nobody. Commits between are
those of the fetched history. If the last approved commit is not among them, all known commits count; the range has a
gap unless they go back to the first commit of the branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from applyviz.records.enums import PlanState
from applyviz.records.git_enums import EditorRole, HistoryGap
from applyviz.records.models import ApplyRun, CommitEditor, CommitRange, Following, Plan
from applyviz.workflow.approvals import quorum
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.people.commit_people import GitPerson, list_pushers, make_editor, read_person
from applyviz.workflow.plans import git_history, git_sources, reviews
from applyviz.workflow.plans.git_history import SourceCommit
from applyviz.workflow.plans.source_runs import earlier_plans
from applyviz.workflow.plans.source_runs.earlier_plans import locate_repository
from applyviz.workflow.plans.source_runs.same_source import select_git_runs

_LOOKED_BACK = 50


class _Base(Struct, frozen=True):
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
        if locate_repository(one.revision) == location and _is_approved(one):
            return _Base(one, git_sources.find_commit(one.revision))
    run = select_git_runs(plan).filter(plan__emergency_apply=None).first()
    return _Base() if run is None else _Base(run.plan, git_sources.find_commit(run.plan.revision))


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


def record_new(plan: Plan) -> None:
    """Record the commits of a new plan, if they are, in the caller's transaction."""
    if plan.followed:
        record_commits(plan, earlier_plans.list_followings(plan.review, plan.followed)[0])


def record_commits(plan: Plan, following: Following) -> None:
    """Record the commits of a plan since the last approved one in the caller's transaction, once."""
    if CommitRange.objects.filter(plan=plan).exists():
        return
    base = _find_base(plan, following.location)
    known = git_history.list_commits(plan.revision)
    commits, gap = _choose_commits(known, base.commit)
    people = _list_people(commits, following.location.partition("/")[0])
    rows = [make_editor(plan, *one) for one in people]
    found = CommitRange(
        plan=plan,
        location=following.location,
        branch=following.branch,
        base=base.commit,
        base_plan=base.plan,
        first_commit=following.first_commit,
        commits=[one.commit for one in commits],
        graph={one.commit: list(one.parents) for one in known},
        people=[[row.role, row.name, row.email, row.login, row.commit] for row in rows],
        gap=gap,
    )
    row_macs.vouch(found)
    found.save(force_insert=True)
    CommitEditor.objects.bulk_create(rows, ignore_conflicts=True)
    add_pushers(found)


def add_pushers(found: CommitRange) -> None:
    """Add who pushed commits of a plan, also to tips that a force push removed; what is known already stays."""
    CommitEditor.objects.bulk_create(list_pushers(found), ignore_conflicts=True)


reviews.note_commits = record_new
