"""The changes of a repository, a chart or links since their last run, and the commit behind a line, for pages."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlsplit

from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.errors import SourcePosition
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan, SourceRevision
from applyviz.sources.git.model import GIT, shorten
from applyviz.web.reviews.pages.sources.provenance import link_commit, link_page, name_ref, read_chart
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import git_history
from applyviz.workflow.plans.git_history import SourceCommit
from applyviz.workflow.plans.plan_scopes import withholds_files
from applyviz.workflow.plans.source_runs.same_source import ComparedSource, find_last_run, list_compared

_LISTED = 50


class CommitRow(Struct, frozen=True):
    """One commit; `url` is its page on a known host."""

    commit: str
    short: str
    url: str
    author: str
    subject: str
    date: object


class FactChange(Struct, frozen=True):
    """One fact of a chart, or one address: what it was at the run, and what it is now; None where it was not there."""

    name: str
    before: str | None
    after: str | None


class SourceChangesCard(Struct, frozen=True):
    """The changes of one source since its last run; of a repository with the commits and the files that they changed.

    - `facts`: what differs in the facts of a chart or in the addresses of links.
    - `unknown`: why the commits are not listed. `compare_url` shows the difference on a known host.
    - `diff_url` shows the changed manifests; "" until the plan is complete.
    """

    source: ComparedSource
    run_number: int
    run_url: str
    summary: str
    diff_url: str
    facts: tuple[FactChange, ...] = ()
    since_short: str = ""
    commits: tuple[CommitRow, ...] = ()
    files: tuple[str, ...] = ()
    more: int = 0
    is_partial: bool = False
    unknown: str = ""
    compare_url: str = ""


class LineOrigin(Struct, frozen=True):
    """A line of a file in a repository, and the commit that last changed it, None if it is older than those known.

    - `is_compared`: False if the line repeats others so often that it was not compared with all of them.
    """

    where: str
    url: str
    blame_url: str
    commit: CommitRow | None
    is_compared: bool = True


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


def present_source_changes(plan: Plan, *, for_user: Person) -> tuple[SourceChangesCard, ...]:
    """Return what changed in each source since its last run that this person may see; () without one."""
    found = (_present_source(plan, source, for_user) for source in list_compared(plan.revision))
    return tuple(card for card in found if card is not None)


def _present_source(plan: Plan, source: ComparedSource, for_user: Person) -> SourceChangesCard | None:
    if source is ComparedSource.GIT:
        return _present_git(plan, for_user)
    run = find_last_run(plan, source, for_user=for_user)
    if run is None:
        return None
    before, after = run.plan.revision, plan.revision
    facts = _compare_charts(before, after) if source is ComparedSource.CHART else _compare_links(before, after)
    return SourceChangesCard(
        source=source,
        run_number=run.number,
        run_url=reverse("runs:show-run", args=[run.number]),
        summary=_name_source(after, source),
        diff_url=_link_diff(plan, source),
        facts=tuple(fact for fact in facts if fact.before != fact.after),
    )


def _name_source(revision: SourceRevision, source: ComparedSource) -> str:
    chart = read_chart(revision) if source is ComparedSource.CHART else None
    if chart is not None:
        return _("chart %(name)s, release %(release)s") % {"name": chart.name, "release": chart.release}
    count = len(revision.provenance["links"])
    return ngettext("%(count)d link", "%(count)d links", count) % {"count": count}


def _compare_charts(before: SourceRevision, after: SourceRevision) -> Iterator[FactChange]:
    """Yield the facts of two renderings of a chart; values are not stored, only what they led to."""
    old, new = read_chart(before), read_chart(after)
    if old is None or new is None:
        return
    names = {
        "version": _("Version"),
        "app_version": _("App version"),
        "kube_version": _("Kubernetes"),
        "source": _("Chart"),
        "digest": _("Archive"),
    }
    for name, label in names.items():
        yield FactChange(label, getattr(old, name) or None, getattr(new, name) or None)


def _compare_links(before: SourceRevision, after: SourceRevision) -> Iterator[FactChange]:
    """Yield the addresses that differ, in their order."""
    old, new = before.provenance["links"], after.provenance["links"]
    for one, other in zip(
        (link for link in old if link not in new), (link for link in new if link not in old), strict=False
    ):
        yield FactChange(_("Link"), str(one), str(other))


def _present_git(plan: Plan, for_user: Person) -> SourceChangesCard | None:
    found = git_history.find_changes(plan, for_user=for_user)
    if found is None:
        return None
    facts = plan.revision.provenance[GIT]
    repository, commit = str(facts["repository"]), str(facts["commit"])
    commits = found.commits or ()
    files = () if withholds_files(plan) else found.files[:_LISTED]
    unknown = "" if found.commits is not None else _describe_unknown(plan, found.run.plan)
    return SourceChangesCard(
        source=ComparedSource.GIT,
        run_number=found.run.number,
        run_url=reverse("runs:show-run", args=[found.run.number]),
        since_short=shorten(found.since),
        summary=_sum_up(len(commits), len(found.files)) if not unknown else _("not known"),
        commits=tuple(_present_commit(repository, one) for one in commits),
        files=files,
        more=len(found.files) - len(files),
        is_partial=found.is_partial,
        unknown=unknown,
        compare_url=link_page(repository, "compare", f"{found.since}...{commit}") if found.since != commit else "",
        diff_url=_link_diff(plan, ComparedSource.GIT),
    )


def _link_diff(plan: Plan, source: ComparedSource) -> str:
    if plan.state != PlanState.COMPLETE:
        return ""
    address = reverse("reviews:show-source-changes", args=[plan.review.number, plan.number])
    return address if source is list_compared(plan.revision)[0] else f"{address}?of={source.value}"


def _describe_unknown(plan: Plan, applied: Plan) -> str:
    """Return why the commits since an applied plan are not listed."""
    facts, before = plan.revision.provenance[GIT], applied.revision.provenance[GIT]
    if not git_history.list_commits(plan.revision):
        return _("The history of the repository could not be read: it is too large, or the server did not give it.")
    if any(one.commit == facts["commit"] for one in git_history.list_commits(applied.revision)):
        return _("This plan goes back: its commit is older than the one that the run applied.")
    if before.get("ref_kind") in ("branch", "tag") and before.get("ref") != facts.get("ref"):
        text = _("The run applied %(ref)s: its commit is not among the newest commits of this one.")
        return text % {"ref": name_ref(before)}
    return _(
        "The commit of that run is not among the newest commits of this one: the branch was rewritten, or it is"
        " old or of another branch."
    )


def present_line(plan: Plan, position: SourcePosition) -> LineOrigin | None:
    """Return where a field comes from in its repository; None for a field of another source.

    - A field of a chart comes from a template, whose lines are not those of the manifest: the file is named alone.
    """
    facts = plan.revision.provenance.get(GIT)
    if not facts or facts.get("kustomization") or not position.line:
        return None
    if facts.get("chart_path"):
        return _present_template(plan, position)
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
        commit=_present_commit(repository, last.commit) if last.commit is not None else None,
        is_compared=last.is_compared,
    )


def _present_template(plan: Plan, position: SourcePosition) -> LineOrigin | None:
    rows = plan.revision.files.filter(name=position.file, provenance__has_key="template_file")
    name = rows.values_list("provenance__template_file", flat=True).first()
    if name is None:
        return None
    facts = plan.revision.provenance[GIT]
    repository, target = str(facts["repository"]), f"{facts['commit']}/{quote(name)}"
    last = git_history.find_last_change(plan.revision, name)
    return LineOrigin(
        where=name,
        url=link_page(repository, "blob", target),
        blame_url=link_page(repository, "blame", target),
        commit=_present_commit(repository, last) if last is not None else None,
    )
