"""The manifests and the cluster that an API request names."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import QuerySet

from applyviz.engine.manifests.documents import DocumentProblem
from applyviz.engine.objects.errors import SourceError, SourcePosition
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.models import Cluster
from applyviz.sources.charts.model import ChartSource
from applyviz.sources.git.model import GitSource, RefusedFilesError
from applyviz.sources.links import MOST_LINKS, UnreadLinksError
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.web.components.forms import Cleaned
from applyviz.web.reviews.forms.manifests import read_chart
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import charts
from applyviz.workflow.plans.intake import Intake, ReviewInput, UnreadSourcesError, read_manifests
from applyviz.workflow.plans.source_mix import DuplicateObjectsError

MOST_FILES = 2_000
_SOURCES = ("chart", "git_repository", "links", "files")
_CHART_FIELDS = (
    "chart", "chart_repository", "chart_version", "chart_release", "chart_values_files", "chart_values", "chart_hooks"
)  # fmt: skip
_PARTS = ("git_ref", "git_path", "kustomization", *_CHART_FIELDS[1:])


def _list_parts(given: Sequence[JSONValue], problems: list[SourceProblem]) -> Iterator[tuple[str, bytes]]:
    for index, file in enumerate(given):
        name = file.get("name") if isinstance(file, dict) else None
        content = _read_content(file) if isinstance(file, dict) else None
        if not isinstance(name, str) or not name or content is None:
            text = "a file has a name, and its content as text or as base64"
            problems.append(SourceProblem(text, field=f"files[{index}]"))
        else:
            yield name, content


def _read_content(file: JSONObject) -> bytes | None:
    """Return the bytes of a file of a JSON body, None without any."""
    text, encoded = file.get("content"), file.get("base64")
    if isinstance(text, str):
        return text.encode()
    try:
        return b64decode(encoded, validate=True) if isinstance(encoded, str) else None
    except ValueError:
        return None


def _list_links(given: Sequence[JSONValue], problems: list[SourceProblem]) -> Iterator[str]:
    for number, link in enumerate(given):
        if not isinstance(link, str) or not link:
            problems.append(SourceProblem("a link is text", field=f"links[{number}]"))
        elif link in given[:number]:
            problems.append(SourceProblem("this link is there twice", field=f"links[{number}]"))
        else:
            yield link


def _read_list(given: JSONObject, name: str, most: int, entry: str) -> list[JSONValue]:
    listed = given.get(name, [])
    if not isinstance(listed, list) or len(listed) > most:
        raise ProblemsError([SourceProblem(f"{name} is a list of at most {most}: [{entry}]", field=name)])
    return listed


def _take(given: ReviewInput, by: Person, *, may_wait: bool) -> Intake:
    try:
        return read_manifests(given, by=by, may_wait=may_wait)
    except SourceError as error:
        raise ProblemsError(_list_errors(error)) from error


def _list_errors(error: SourceError) -> Iterator[SourceProblem]:
    """Yield every problem of sources that could not be read."""
    match error:
        case UnreadSourcesError():
            for one in error.errors:
                yield from _list_errors(one)
            for file in error.files:
                yield from (_show_problem(problem.explanation, problem.position) for problem in file.problems)
        case RefusedFilesError():
            for refused in error.received.refused:
                yield SourceProblem(refused.reason, field="git_repository", file=refused.name)
        case UnreadLinksError():
            for number, reason in error.reasons.items():
                yield SourceProblem(reason, field=f"links[{number}]")
        case DuplicateObjectsError():
            yield from (_show_problem(problem.reason, problem.position) for problem in error.problems)
        case _:
            yield SourceProblem(str(error), field=error.field or "files")


def _read_entries(taken: Intake) -> list[DocumentProblem]:
    """Return the entries of a kOps channel that cannot be read."""
    return [DocumentProblem(p.reason, p.position) for p in taken.channel_problems]


def _show_problem(reason: str, position: SourcePosition) -> SourceProblem:
    return SourceProblem(reason, file=position.file, line=position.line, column=position.column)


def has_manifests(given: JSONObject) -> bool:
    """Return whether a JSON body brings manifests."""
    return any(name in given for name in _SOURCES)


def refuse_parts(given: JSONObject) -> None:
    """Refuse fields that say more about a source in a JSON body that has none; raises `ProblemsError`."""
    text = "it says more about manifests, and the body has none: files, links, git_repository or chart"
    found = [SourceProblem(text, field=name) for name in _PARTS if given.get(name)]
    if found and not has_manifests(given):
        raise ProblemsError(found)


def add_files(given: JSONObject, more: Iterable[tuple[str, bytes]]) -> JSONObject:
    """Return a JSON body with further files, which other fields of it stand for."""
    added = [{"name": name, "content": content.decode()} for name, content in more]
    files = given.get("files", [])
    return {**given, "files": [*files, *added]} if added and isinstance(files, list) else given


def _read_git(given: JSONObject, kustomization: str) -> GitSource | None:
    """Return the repository of a JSON body; raises `ProblemsError` for a ref or path without one."""
    repository, ref, path = (given.get(f"git_{name}") or "" for name in ("repository", "ref", "path"))
    if not all(isinstance(text, str) for text in (repository, ref, path)):
        raise ProblemsError([SourceProblem("the repository, its ref and its path are text", field="git_repository")])
    if not repository:
        if ref or path:
            raise ProblemsError([SourceProblem("name the repository too", field="git_repository")])
        return None
    if kustomization and given.get("files"):
        text = "render a kustomization of the files or of the repository, not of both"
        raise ProblemsError([SourceProblem(text, field="kustomization")])
    return GitSource(repository, ref.strip(), path.strip(), kustomization)


def _read_chart(given: JSONObject) -> ChartSource | None:
    """Return the chart of a JSON body; raises `ProblemsError` for fields without one, and for one that cannot be."""
    named = {name: given.get(name) or "" for name in _CHART_FIELDS}
    if not all(isinstance(value, str) for value in named.values()):
        raise ProblemsError([SourceProblem("the fields of the chart are text", field="chart")])
    chart = read_chart(named)
    if chart is None:
        if any(value for name, value in named.items() if name != "chart_hooks"):
            raise ProblemsError([SourceProblem("name the chart too", field="chart")])
        return None
    try:
        charts.check(chart)
    except SourceError as error:
        raise ProblemsError([SourceProblem(str(error), field=error.field or "chart")]) from error
    return chart


def read_files(
    given: JSONObject,
    kustomization: str = "",
    *,
    by: Person,
    cluster: Cluster | None = None,
    namespace: str = "",
    may_wait: bool = False,
) -> Intake:
    """Freeze and parse the manifests of a JSON body; raises `ProblemsError` with every problem and its line.

    - A chart is rendered for `cluster` and `namespace`.
    - `may_wait`: large sources are parsed by the worker that plans them.
    """
    files = _read_list(given, "files", MOST_FILES, "{name, content}")
    links = _read_list(given, "links", MOST_LINKS, "https://...")
    git = _read_git(given, kustomization)
    chart = _read_chart(given)
    if not files and not links and git is None and chart is None:
        raise ProblemsError([SourceProblem(f"bring 1 to {MOST_FILES} files: [{{name, content}}]", field="files")])
    if kustomization and not files and git is None:
        text = "bring the folder that it names as files, or name its repository"
        raise ProblemsError([SourceProblem(text, field="kustomization")])
    problems: list[SourceProblem] = []
    parts, addresses = list(_list_parts(files, problems)), tuple(_list_links(links, problems))
    if problems:
        raise ProblemsError(problems)
    source = ReviewInput(
        tuple(parts),
        kustomization if parts else "",
        links=addresses,
        git=git,
        chart=chart,
        cluster=cluster,
        namespace=namespace,
    )
    taken = _take(source, by, may_wait=may_wait)
    wrong = [*(p for file in taken.files for p in file.problems), *_read_entries(taken)]
    found = [_show_problem(p.explanation, p.position) for p in wrong]
    if not found and taken.is_read and not taken.has_objects:
        field = next(name for name in _SOURCES if given.get(name))
        found = [SourceProblem("the manifests contain no object", field=field)]
    if found:
        raise ProblemsError(found)
    return taken


def find_cluster(clusters: QuerySet[Cluster], chosen: Cleaned) -> Cluster:
    """Return the cluster that a form names, among visible ones; raises `ProblemsError`."""
    found = clusters.filter(slug=chosen["cluster"]).first()
    if found is None:
        raise ProblemsError([SourceProblem(f"there is no cluster {chosen['cluster']}", field="cluster")])
    return found
