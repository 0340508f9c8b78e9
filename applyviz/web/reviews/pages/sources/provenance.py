"""Where the manifests of a plan come from: uploaded, pasted, fetched, from git, rendered, or written by applyviz.

An address is shown without its query: signed links hold a credential there, and every reader of a review sees this.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import Plan, SourceRevision
from applyviz.sources.bundle import SourceBundle
from applyviz.sources.charts.model import HELM
from applyviz.sources.git.model import GIT, shorten
from applyviz.sources.links import hide_query
from applyviz.workflow.plans import git_sources
from applyviz.workflow.plans.charts import CHART
from applyviz.workflow.plans.plan_scopes import withholds_files

MOST_FILES = 200
_PAGES = {"github.com": "", "gitlab.com": "/-"}


class FileOrigin(Struct, frozen=True):
    """One file of a source, and where it comes from.

    - `method`: how it came, in few words, without what it came from.
    - `url`: the address that the person gave, and `raw_url` the raw file behind that page, if it is another one.
    - `fetched_at`: when a link was fetched.
    """

    name: str
    size: int
    text: str
    method: str
    url: str = ""
    raw_url: str = ""
    fetched_at: object = None


class GitOrigin(Struct, frozen=True):
    """The commit that manifests were taken from, as pages show it.

    - `url` and `commit_url` are links; the latter only on hosts whose pages are known.
    """

    name: str
    url: str
    ref: str
    commit: str
    short: str
    commit_url: str
    author: str
    subject: str
    date: object
    path: str


class ChartOrigin(Struct, frozen=True):
    """The chart that manifests were rendered from, as pages show it.

    - `source` is where the chart came from, `digest` the SHA-256 of its archive; `notes` and `warnings`, which are
      helm's, are without credentials.
    """

    name: str
    version: str
    app_version: str
    release: str
    namespace: str
    kube_version: str
    api_versions: int
    calls_lookup: bool
    source: str
    url: str
    digest: str
    notes: str
    warnings: tuple[str, ...]


class FileOrigins(Struct, frozen=True):
    """The first files of a source in their order; `more` are not listed.

    - `git`: the commit that they came from; `chart`: the chart that they were rendered from.
    """

    files: tuple[FileOrigin, ...]
    more: int
    git: GitOrigin | None = None
    chart: ChartOrigin | None = None


def link_page(repository: str, page: str, target: str) -> str:
    """Return a page of a repository on GitHub or GitLab, "" for another host."""
    parts = urlsplit(repository.removesuffix(".git"))
    path = _PAGES.get(parts.hostname or "") if parts.scheme in ("https", "ssh") and not parts.port else None
    return "" if path is None else f"https://{parts.hostname}{parts.path}{path}/{page}/{target}"


def link_commit(repository: str, commit: str) -> str:
    """Return the page of a commit on GitHub or GitLab, "" for another host."""
    return link_page(repository, "commit", commit)


def name_ref(facts: JSONObject) -> str:
    """Return what a commit was found by, as a branch or a tag with its name."""
    name = str(facts.get("ref", ""))
    texts = {
        "branch": _("branch %(name)s") if name else _("the default branch"),
        "tag": _("tag %(name)s"),
        "commit": _("this commit"),
    }
    return texts.get(str(facts.get("ref_kind", "")), "%(name)s") % {"name": name}


def read_git(revision: SourceRevision) -> GitOrigin | None:
    """Return the commit that manifests were taken from, None without a repository."""
    facts = revision.provenance.get(GIT)
    if not facts:
        return None
    repository, commit = str(facts.get("repository", "")), str(facts.get("commit", ""))
    parts = urlsplit(repository)
    return GitOrigin(
        name=f"{parts.netloc.rpartition('@')[2]}{parts.path}",
        url=repository if parts.scheme == "https" else "",
        ref=name_ref(facts),
        commit=commit,
        short=shorten(commit),
        commit_url=link_commit(repository, commit),
        author=str(facts.get("author", "")),
        subject=str(facts.get("subject", "")),
        date=parse_datetime(str(facts.get("date", ""))),
        path=str(facts.get("kustomization") or facts.get("chart_path") or facts.get("path", "")),
    )


def read_chart(revision: SourceRevision) -> ChartOrigin | None:
    """Return the chart that manifests were rendered from, None without one."""
    facts = revision.provenance.get(CHART)
    if not facts:
        return None
    url = str(facts.get("chart_url", ""))
    return ChartOrigin(
        name=str(facts.get("chart", "")),
        version=str(facts.get("chart_version", "")),
        app_version=str(facts.get("app_version", "")),
        release=str(facts.get("release", "")),
        namespace=str(facts.get("namespace", "")),
        kube_version=str(facts.get("kube_version", "")),
        api_versions=int(facts.get("api_versions", 0)),
        calls_lookup=bool(facts.get("lookup")),
        source=url or str(facts.get("chart_file") or facts.get("chart_folder") or ""),
        url=url if url.startswith("https://") else "",
        digest=str(facts.get("chart_digest", "")),
        notes=str(facts.get("notes", "")),
        warnings=tuple(str(facts.get("warnings", "")).splitlines()),
    )


def describe_same(bundle: SourceBundle) -> str:
    """Return the sentence that a repository fetched again has no newer commit."""
    facts = git_sources.find_facts(bundle)
    return _("%(ref)s is still at %(commit)s. There is no newer commit, so the plan did not change.") % {
        "ref": facts.get("ref") or _("The default branch"),
        "commit": shorten(facts["commit"]),
    }


def _describe(provenance: JSONObject) -> str:
    kind = str(provenance.get("from", ""))
    if kind == "kustomize":
        return _("rendered by kustomize from %(folder)s") % {"folder": provenance.get("folder", ".")}
    if kind == "helm":
        template = str(provenance.get("template_file") or provenance.get("template", ""))
        text = (
            _("CRD of the chart, from %(template)s")
            if "/crds/" in f"/{template}"
            else _("rendered by helm from %(template)s")
        )
        return text % {"template": template}
    if kind == "live":
        return _("live object of cluster %(cluster)s") % {"cluster": provenance.get("cluster", "")}
    if kind.startswith("run "):
        return _("revert of run %(number)s") % {"number": kind.removeprefix("run ")}
    texts = {"upload": _("uploaded"), "paste": _("pasted"), "link": _("fetched"), GIT: _("from the repository")}
    return texts.get(kind, kind)


def _name_method(provenance: Mapping[str, object]) -> str:
    kind = str(provenance.get("from", ""))
    rendered = {"kustomize": _("rendered by kustomize"), "helm": _("rendered by helm"), "live": _("live")}
    return rendered.get(kind) or (_("from a run") if kind.startswith("run ") else _describe(provenance) or _("given"))


def _present_file(name: str, size: int, provenance: JSONObject) -> FileOrigin:
    return FileOrigin(
        name=name,
        size=size,
        text=_describe(provenance),
        method=_name_method(provenance),
        url=hide_query(str(provenance.get("url", ""))),
        raw_url=hide_query(str(provenance.get("raw_url", ""))),
        fetched_at=parse_datetime(str(provenance.get("fetched_at", ""))),
    )


def list_origins(plan: Plan) -> FileOrigins:
    """Return the files of a plan's source with their origins; none of them if their names are withheld."""
    if withholds_files(plan):
        return FileOrigins((), plan.revision.files.count(), read_git(plan.revision), read_chart(plan.revision))
    rows = plan.revision.files.order_by("position").values_list("name", "size", "provenance")
    found = tuple(_present_file(*row) for row in rows[:MOST_FILES])
    more = max(0, plan.revision.files.count() - len(found)) if len(found) == MOST_FILES else 0
    return FileOrigins(found, more, read_git(plan.revision), read_chart(plan.revision))


def describe_origin(plan: Plan, file: str) -> str:
    """Return where a file comes from: one of several sources, or a template in a repository; "" for any other."""
    facts = plan.revision.provenance
    if len(facts.get("sources", ())) < 2 and not facts.get(GIT, {}).get("chart_path"):
        return ""
    found = plan.revision.files.filter(name=file).values_list("provenance", flat=True).first()
    if found is None:
        return ""
    if "template_file" in found:
        return _("%(file)s at %(commit)s") % {"file": _describe(found), "commit": shorten(str(found.get(GIT, "")))}
    url = hide_query(str(found.get("url", "")))
    return f"{_describe(found)} {url}".strip()


def link_template(plan: Plan, file: str) -> str:
    """Return the page of the template that a file was rendered from, at its commit; "" if there is none."""
    facts = plan.revision.provenance.get(GIT, {})
    if not facts.get("chart_path"):
        return ""
    names = plan.revision.files.filter(name=file).values_list("provenance__template_file", flat=True)
    name = names.first()
    return link_page(str(facts["repository"]), "blob", f"{facts['commit']}/{quote(name)}") if name else ""


def _count_files(count: int) -> str:
    return ngettext("%(count)d file", "%(count)d files", count) % {"count": count}


def _sum_up_links(revision: SourceRevision) -> str:
    links = [str(link) for link in revision.provenance.get("links", ())]
    hosts = ", ".join(dict.fromkeys(urlsplit(link).hostname or link for link in links))
    return _("%(files)s from %(hosts)s") % {"files": _count_files(len(links)), "hosts": hosts}


def _name_chart(chart: ChartOrigin) -> str:
    fact = {"chart": f"{chart.name} {chart.version}", "release": chart.release}
    return _("chart %(chart)s as release %(release)s") % fact


def _sum_up_chart(chart: ChartOrigin, count: int) -> str:
    fact = {"files": _count_files(count), "chart": f"{chart.name} {chart.version}", "release": chart.release}
    return _("%(files)s with chart %(chart)s as release %(release)s") % fact


def _sum_up_git(origin: GitOrigin, count: int) -> str:
    fact = {"files": _count_files(count), "name": origin.name, "commit": origin.short, "ref": origin.ref}
    return _("%(files)s from %(name)s at %(commit)s (%(ref)s)") % fact


def _sum_up_kind(revision: SourceRevision, kind: str, count: int) -> str:
    """Return how many files one kind of source gave, and what it is."""
    chart, origin = read_chart(revision), read_git(revision)
    if kind == HELM and chart is not None:
        return _sum_up_chart(chart, count)
    if kind == GIT and origin is not None:
        text = _sum_up_git(origin, count)
        is_rendered = revision.provenance[GIT].get("chart_path")
        return f"{text}, {_name_chart(chart)}" if is_rendered and chart is not None else text
    if kind == "link":
        return _sum_up_links(revision)
    texts = {"upload": _("%(files)s uploaded"), "paste": _("pasted text")}
    return texts.get(kind, "%(files)s") % {"files": _count_files(count)}


def sum_up_origins(revision: SourceRevision) -> str:
    """Return one line: how many files, and where they come from; each source in the order in which it was read."""
    kinds: list[tuple[str, int]] = revision.provenance.get("sources", [])
    if len(kinds) == 1 and kinds[0][0] in ("upload", "paste"):
        return _count_files(kinds[0][1])
    texts = (_sum_up_kind(revision, kind, count) for kind, count in kinds)
    return "; ".join(texts) or _count_files(int(revision.provenance.get("files", 0)))
