"""Where the manifests of a plan come from, as JSON: each source in the order in which it was read, commit and chart."""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import SourceRevision
from applyviz.web.reviews.pages.sources.provenance import read_chart, read_git, sum_up_origins


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
