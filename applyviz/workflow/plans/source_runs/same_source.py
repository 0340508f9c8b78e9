"""Which earlier run applied the same source to the same cluster.

- A repository: the same path, kustomization or chart of it; a chart with its release and namespace.
- A chart: its name, release and namespace, as Helm names a release, whatever the version and wherever it came from.
- Links: the same addresses; a part that is a version or a commit may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet

from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, Plan, Review, SourceRevision
from applyviz.sources.charts.model import HELM
from applyviz.sources.git.model import GIT
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.charts import CHART

_REVISION = "plan__revision__provenance"
_REPOSITORY = ("repository", "path", "kustomization", "chart_path")
_RELEASE = ("release", "namespace")
_LOOKED_BACK = 100
# A version as people write it into an address, or the id of a commit.
_VERSION = re.compile(
    r"v?[0-9]{1,9}(\.[0-9]{1,9}){1,4}([-+][0-9A-Za-z.-]{1,40}?)?(?=$|[/_]|\.[a-z])|(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])"
)


class ComparedSource(StrEnum):
    """A source that is compared with the last run of the same one."""

    GIT = "git"
    CHART = "chart"
    LINKS = "links"

    @property
    def files(self) -> Q:
        """Return the filter of the files of a revision that came from such a source."""
        if self is ComparedSource.GIT:
            return Q(provenance__has_key=GIT)
        return Q(provenance__from=HELM) if self is ComparedSource.CHART else Q(provenance__has_key="url")


def list_compared(revision: SourceRevision) -> tuple[ComparedSource, ...]:
    """Return the sources of a revision that are compared with an earlier run; a chart in a repository is part of it."""
    facts = revision.provenance
    is_there = {
        ComparedSource.GIT: bool(facts.get(GIT)),
        ComparedSource.CHART: bool(facts.get(CHART)) and not facts.get(GIT, {}).get("chart_path"),
        ComparedSource.LINKS: bool(facts.get("links")),
    }
    return tuple(source for source, is_here in is_there.items() if is_here)


def _same(facts: dict[str, str], source: str, names: Iterable[str]) -> dict[str, object]:
    """Return the filter of revisions with the same facts; what is empty is not stored."""
    field = f"{_REVISION}__{source}"
    return {
        f"{field}__{name}" if name in facts else f"{field}__{name}__isnull": facts.get(name, True) for name in names
    }


def _select_earlier(plan: Plan) -> QuerySet[ApplyRun]:
    runs = ApplyRun.objects.filter(state=RunState.APPLIED, plan__target__cluster=plan.target.cluster_id)
    earlier = runs.filter(created_at__lt=plan.created_at).exclude(plan=plan)
    return earlier.select_related("plan__revision").order_by("-number")


def select_git_runs(plan: Plan) -> QuerySet[ApplyRun]:
    """Return the earlier runs that applied the same path of the same repository to the same cluster, newest first."""
    facts = plan.revision.provenance
    same = _same(facts[GIT], GIT, _REPOSITORY)
    if facts[GIT].get("chart_path"):
        same |= _same(facts.get(CHART, {}), CHART, _RELEASE)
    return _select_earlier(plan).filter(**same)


def _select_chart_runs(plan: Plan) -> QuerySet[ApplyRun]:
    facts = plan.revision.provenance[CHART]
    return _select_earlier(plan).filter(**_same(facts, CHART, ("chart", *_RELEASE)))


def name_links(links: Iterable[str]) -> frozenset[str]:
    """Return addresses without the versions and commits in their paths."""
    return frozenset(map(_name_link, links))


def _name_link(link: str) -> str:
    parts = urlsplit(link)
    return parts._replace(path=_VERSION.sub("*", parts.path)).geturl()


def _find_links_run(plan: Plan, runs: QuerySet[ApplyRun]) -> ApplyRun | None:
    wanted = name_links(plan.revision.provenance["links"])
    found = runs.filter(**{f"{_REVISION}__has_key": "links"})[:_LOOKED_BACK]
    return next((run for run in found if name_links(run.plan.revision.provenance["links"]) == wanted), None)


def find_last_run(plan: Plan, source: ComparedSource, *, for_user: Person) -> ApplyRun | None:
    """Return the last run of the same source that this person may see; None without one.

    - `source` must be among those of `list_compared`.
    """
    visible = Q(plan__review__in=Review.objects.filter(access.select_reviews(for_user)).values("pk"))
    if source is ComparedSource.LINKS:
        return _find_links_run(plan, _select_earlier(plan).filter(visible))
    runs = select_git_runs(plan) if source is ComparedSource.GIT else _select_chart_runs(plan)
    return runs.filter(visible).first()
