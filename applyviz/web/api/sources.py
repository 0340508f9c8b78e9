"""Where the manifests of a plan come from, as JSON: each source in its order, and what changed since its last run."""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import Plan, SourceRevision
from applyviz.web.reviews.pages.sources.provenance import read_chart, read_git, sum_up_origins
from applyviz.web.reviews.pages.sources.source_changes import SourceChangesCard, present_source_changes
from applyviz.workflow.foundation.access import Person


def _present_commit(revision: SourceRevision) -> JSONObject | None:
    git = read_git(revision)
    if git is None:
        return None
    return {
        "id": git.commit,
        "repository": git.name,
        "ref": git.ref,
        "path": git.path,
        "author": git.author,
        "message": git.subject,
        "url": git.commit_url,
    }


def _present_chart(revision: SourceRevision) -> JSONObject | None:
    chart = read_chart(revision)
    if chart is None:
        return None
    return {
        "name": chart.name,
        "version": chart.version,
        "release": chart.release,
        "source": chart.source,
        "digest": chart.digest,
        "notes": chart.notes,
        "warnings": list(chart.warnings),
    }


def present_source(revision: SourceRevision) -> JSONObject:
    """Return the sources of manifests; addresses have no query, which may hold a credential.

    - `text` sums them up in one line; `commit` and `chart` are null without a repository or a chart.
    """
    facts = revision.provenance
    return {
        "text": sum_up_origins(revision),
        "kinds": [{"kind": kind, "files": count} for kind, count in facts.get("sources", ())],
        "links": list(facts.get("links", ())),
        "commit": _present_commit(revision),
        "chart": _present_chart(revision),
    }


def _present_changes(card: SourceChangesCard) -> JSONObject:
    return {
        "kind": card.source.value,
        "run": card.run_number,
        "text": card.summary,
        "changed": [{"name": fact.name, "before": fact.before, "after": fact.after} for fact in card.facts],
        "commits": [{"id": row.commit, "author": row.author, "message": row.subject} for row in card.commits],
        "files": list(card.files),
    }


def list_source_changes(plan: Plan, *, for_user: Person) -> list[JSONObject]:
    """Return what changed in each source since its last run that this person may see; [] without one.

    - `changed`: facts of a chart or addresses of links; `commits` and `files`: of a repository.
    """
    return [_present_changes(card) for card in present_source_changes(plan, for_user=for_user)]
