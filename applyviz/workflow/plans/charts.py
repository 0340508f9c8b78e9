"""Helm charts as sources of reviews: uploaded, fetched by the rules of links, or taken from a commit of a repository.

They are rendered for the cluster and its namespace.

Templates may ask for the version of Kubernetes and for the APIs that a cluster serves. Only a worker can read those of
a live cluster; a web process of a team asks one (`worker_requests`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from django.conf import settings
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.clusters import discovery
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.errors import ClusterError, SourceError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.requests.replacement import name_object
from applyviz.engine.risks.hooks import read_hooks
from applyviz.records.models import Cluster
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts import fetching, packages, rendering
from applyviz.sources.charts.model import HELM, ChartPackage, ChartSource, ChartTarget, RenderedChart
from applyviz.sources.git.model import FetchedFiles, GitSource
from applyviz.sources.rendering.choose import make_runner
from applyviz.sources.upload import clean_path
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans.fetch_policy import make_policy

CHART = "chart"
"""The facts of a chart, in the provenance of a revision."""
FACTS = (
    "chart", "chart_version", "app_version", "release", "namespace", "kube_version", "api_versions", "lookup",
    "chart_url", "chart_digest", "chart_file", "chart_folder", "fetched_at", "notes", "warnings",
)  # fmt: skip


def list_values_files(text: str) -> tuple[str, ...]:
    """Return the values files that a text names, one per line, as the upload or the repository names them."""
    return tuple(filter(None, map(clean_path, text.splitlines())))


def check(source: ChartSource) -> None:
    """Refuse what a chart cannot be named by, without network access; raises `SourceError`."""
    fetching.check(source)
    rendering.check_release(source.release)


def read_api_versions(cluster: Cluster, *, by: Person) -> tuple[str, ...]:
    """Return the group versions and kinds that a cluster serves, as Helm names them; raises `SourceError`."""
    access.require(by, Action.WRITE)
    try:
        with impersonation.open_reader(cluster, for_user=by) as reader:
            kinds = [resource.gvk for resource in discovery.load_catalog(reader).list_resources()]
    except (ClusterError, NotPossibleError) as error:
        raise SourceError(
            _("the APIs of cluster %(name)s cannot be read, and the chart is rendered for them: %(reason)s")
            % {"name": cluster.slug, "reason": error}
        ) from None
    groups = (kind.api_version for kind in kinds)
    return tuple(sorted({*groups, *(f"{kind.api_version}/{kind.kind}" for kind in kinds)}))


Ask = Callable[[Cluster, Person], tuple[str, ...]]
ask_api_versions: Ask | None = None
"""How the APIs of a cluster are read, set by `worker_requests`: here, or by a worker."""


def _find_target(cluster: Cluster | None, namespace: str, by: Person) -> ChartTarget:
    if cluster is None:
        raise SourceError(_("choose the cluster: a chart is rendered for its version and its APIs"))
    served = read_api_versions(cluster, by=by) if ask_api_versions is None else ask_api_versions(cluster, by)
    return ChartTarget(namespace or "default", cluster.version, served)


def _name(source: ChartSource) -> str:
    """Return the path of a chart in an upload or a repository; "." is the root."""
    return posixpath.normpath(source.chart.strip("/") or ".")


def _take_local(source: ChartSource, files: Mapping[str, bytes], *, within: str = "upload") -> ChartPackage:
    """Return the chart among files of an upload or a repository: an archive, or a folder."""
    name = _name(source)
    if name in files:
        return packages.read_archive(files[name], name, {"from": within, "chart_file": name})
    if packages.is_archive_name(name):
        raise SourceError(_("the chart %(name)s is not in the upload") % {"name": name})
    return packages.read_folder(files, name, within=within)


def _take_package(source: ChartSource, uploaded: Mapping[str, bytes]) -> ChartPackage:
    """Return the chart that a source names: fetched, an uploaded archive, or an uploaded folder."""
    if fetching.is_remote(source):
        return fetching.fetch(source, fetching.FetchContext(make_policy(), clock.host_now().isoformat()))
    return _take_local(source, uploaded)


def list_used(source: ChartSource, names: Iterable[str]) -> frozenset[str]:
    """Return the uploaded files that belong to a chart or its values, and are no manifests of their own."""
    if fetching.is_remote(source):
        return frozenset(source.values_files)
    root = _name(source)
    inside = (name for name in names if name == root or root == "." or name.startswith(f"{root}/"))
    return frozenset((*inside, *source.values_files))


def is_in_repository(source: ChartSource, uploaded: Iterable[str]) -> bool:
    """Return whether a chart of a review with a repository is in that: it is neither fetched nor uploaded."""
    name = _name(source)
    own = {name, posixpath.normpath(posixpath.join(name, packages.CHART_FILE))}
    return not fetching.is_remote(source) and own.isdisjoint(uploaded)


def render_chart(
    source: ChartSource, uploaded: Mapping[str, bytes], *, cluster: Cluster | None, namespace: str, by: Person
) -> RenderedChart:
    """Return the rendered templates of a chart; raises `SourceError` with what to do."""
    check(source)
    package = _take_package(source, uploaded)
    target = _find_target(cluster, namespace, by)
    run = make_runner(settings.APPLYVIZ_RENDERER_SOCKET)
    return rendering.render(package, source, uploaded, target=target, run=run)


def name_in_repository(repository: GitSource, source: ChartSource, uploaded: Iterable[str]) -> GitSource:
    """Return what to fetch of a repository for its chart: the chart, and the values files that are not uploaded."""
    theirs = frozenset(uploaded)
    files = tuple(name for name in source.values_files if name not in theirs)
    return replace(repository, chart=_name(source), values_files=files)


def render_fetched(
    source: ChartSource,
    received: FetchedFiles,
    uploaded: Mapping[str, bytes],
    *,
    cluster: Cluster | None,
    namespace: str,
    by: Person,
) -> RenderedChart:
    """Return the rendered templates of a chart in a repository, each with its commit; raises `SourceError`.

    - `uploaded`: a values file of the upload is taken before one of the repository.
    """
    check(source)
    files = {file.name: file.data for file in received.files}
    package = _take_local(source, files, within="repository")
    target = _find_target(cluster, namespace, by)
    run = make_runner(settings.APPLYVIZ_RENDERER_SOCKET)
    found = rendering.render(package, source, {**files, **uploaded}, target=target, run=run)
    facts = {**received.facts, **_remember(source, uploaded)}
    linked = (
        replace(file, provenance={**facts, **file.provenance, **_find_template(file, package, _name(source))})
        for file in found.files
    )
    return replace(found, files=tuple(linked))


def _remember(source: ChartSource, uploaded: Mapping[str, bytes]) -> dict[str, str]:
    """Return what a newer commit is rendered with, as facts of the repository; no values that a person gave."""
    has_own = bool(source.values.strip()) or any(name in uploaded for name in source.values_files)
    return {
        "chart_path": _name(source),
        "values_files": "\n".join(source.values_files),
        "asked_release": source.release,
        "own_values": "yes" if has_own else "",
        "hooks": "apply" if source.applies_hooks else "",
    }


def _find_template(file: BundledFile, package: ChartPackage, folder: str) -> dict[str, str]:
    """Return the path of a template in its repository; {} in an archive, and if its sub-chart has another folder."""
    inside = file.provenance.get("template", "").partition("/")[2]
    if package.archive or inside not in package.files:
        return {}
    return {"template_file": posixpath.normpath(posixpath.join(folder, inside))}


def is_rendered(file: BundledFile) -> bool:
    """Return whether a file was rendered from a chart."""
    return file.provenance.get("from") == HELM


def find_facts(bundle: SourceBundle) -> Mapping[str, str]:
    """Return the facts of the chart that files of a bundle were rendered from, {} without one."""
    found = next((file.provenance for file in bundle.files if is_rendered(file)), {})
    return {name: found[name] for name in FACTS if found.get(name)}


def keep_of_file(file: BundledFile) -> dict[str, str]:
    """Return what is stored of the provenance of a rendered file: the facts of its chart are stored once, for all."""
    return {name: text for name, text in file.provenance.items() if name not in FACTS}


def _list_hooks(files: Iterable[ParsedFile], bundle: SourceBundle) -> Iterator[ObjectRef]:
    rendered = {file.name for file in bundle.files if is_rendered(file)}
    for file in files:
        for document in file.documents:
            if file.file in rendered and read_hooks(document.obj):
                yield ObjectRef.from_object(document.obj)


def leave_out_hooks(options: ApplyOptions, files: Sequence[ParsedFile], bundle: SourceBundle) -> ApplyOptions:
    """Return the options that leave the hooks of a rendered chart out, beside what is left out already."""
    names = tuple(name_object(ref) for ref in _list_hooks(files, bundle))
    if not names:
        return options
    reasons = [options.left_out_reason] if options.left_out_reason else []
    reason = "; ".join([*reasons, "Helm hooks: apply does not run them"])
    return replace(options, left_out=tuple(dict.fromkeys((*options.left_out, *names))), left_out_reason=reason)
