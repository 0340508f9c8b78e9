"""What changed in the repository since the last run, and the commit behind a line, as pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.objects.errors import SourcePosition
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.sources.git.model import GIT, shorten
from applyviz.web.reviews.pages.sources.provenance import link_commit, link_page
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import git_history
from applyviz.workflow.plans.git_history import SourceCommit

_LISTED = 50


@dataclass(frozen=True, slots=True)
class CommitRow:
    """One commit; `url` is its page on a known host."""

    commit: str
    short: str
    url: str
    author: str
    subject: str
    date: object


@dataclass(frozen=True, slots=True)
class SourceChangesCard:
    """The commits since a run, newest first, and the files that they changed.

    - `unknown`: why the commits are not listed. `compare_url` shows the difference on a known host.
    - `diff_url` shows the changed manifests; "" until the plan is complete.
    """

    run_number: int
    run_url: str
    since_short: str
    summary: str
    commits: tuple[CommitRow, ...]
    files: tuple[str, ...]
    more: int
    is_partial: bool
    unknown: str
    compare_url: str
    diff_url: str


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """A line of a file in a repository, and the commit that last changed it, None if it is older than those known."""

    where: str
    url: str
    blame_url: str
    commit: CommitRow | None


def _present_commit(repository: str, one: SourceCommit) -> CommitRow:
    return CommitRow(
        commit=one.commit,
        short=shorten(one.commit),
        url=link_commit(repository, one.commit),
        author=one.author,
        subject=one.subject,
        date=parse_datetime(one.date),
    )


def _sum_up(commits: int, files: int) -> str:
    if not commits:
        return _("nothing")
    fact = {
        "commits": ngettext("%(count)d commit", "%(count)d commits", commits) % {"count": commits},
        "files": ngettext("%(count)d file", "%(count)d files", files) % {"count": files},
    }
    return _("%(commits)s, %(files)s") % fact


def present_source_changes(plan: Plan, *, for_user: Person) -> SourceChangesCard | None:
    """Return what changed since the last run that this person may see; None without one."""
    found = git_history.find_changes(plan, for_user=for_user)
    if found is None:
        return None
    facts = plan.revision.provenance[GIT]
    repository, commit = str(facts["repository"]), str(facts["commit"])
    commits = found.commits or ()
    unknown = "" if found.commits is not None else _describe_unknown(plan)
    return SourceChangesCard(
        run_number=found.run.number,
        run_url=reverse("runs:show-run", args=[found.run.number]),
        since_short=shorten(found.since),
        summary=_sum_up(len(commits), len(found.files)) if not unknown else _("not known"),
        commits=tuple(_present_commit(repository, one) for one in commits),
        files=found.files[:_LISTED],
        more=max(0, len(found.files) - _LISTED),
        is_partial=found.is_partial,
        unknown=unknown,
        compare_url=link_page(repository, "compare", f"{found.since}...{commit}") if found.since != commit else "",
        diff_url=_link_diff(plan),
    )


def _link_diff(plan: Plan) -> str:
    is_complete = plan.state == PlanState.COMPLETE
    return reverse("reviews:show-source-changes", args=[plan.review.number, plan.number]) if is_complete else ""


def _describe_unknown(plan: Plan) -> str:
    if not git_history.list_commits(plan.revision):
        return _("The history of the repository could not be read: it is too large, or the server did not give it.")
    return _(
        "The commit of that run is not among the newest commits of this one: the branch was rewritten, or it is old."
    )


def present_line(plan: Plan, position: SourcePosition) -> LineOrigin | None:
    """Return where a field comes from in its repository; None for a field of another source."""
    facts = plan.revision.provenance.get(GIT)
    if not facts or facts.get("kustomization") or not position.line:
        return None
    repository, commit = str(facts["repository"]), str(facts["commit"])
    parts = urlsplit(repository)
    name = position.file.removeprefix(f"{parts.hostname}{parts.path}/")
    if not plan.revision.files.filter(name=position.file, provenance__has_key=GIT).exists():
        return None
    last = git_history.find_line(plan.revision, position.file, position.line)
    target = f"{commit}/{quote(name)}"
    line = f"#L{position.line}"
    blame = link_page(repository, "blame", target)
    page = link_page(repository, "blob", target)
    return LineOrigin(
        where=f"{name}:{position.line}",
        url=f"{page}{line}" if page else "",
        blame_url=f"{blame}{line}" if blame else "",
        commit=_present_commit(repository, last) if last is not None else None,
    )
