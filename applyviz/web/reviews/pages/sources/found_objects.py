"""The objects and problems found in manifests, which are read and parsed at once unless they are large.

Problems of single documents do not stop the others. `applyviz.sources` sets the limits; input that it refuses becomes a
problem too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.sources.bundle import SourceBundle
from applyviz.sources.git.model import RefusedFilesError
from applyviz.sources.kustomization import NAMES as KUSTOMIZATIONS
from applyviz.sources.links import UnreadLinksError, hide_query
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.intake import ReviewInput, UnreadSourcesError, read_manifests
from applyviz.workflow.plans.source_mix import CHART_FILE, DuplicateObjectsError


class FoundObject(Struct, frozen=True):
    """A parsed object."""

    kind: str
    name: str


class FoundProblem(Struct, frozen=True):
    """A document that could not be parsed, with its location.

    - `words`: those of kubectl, where `reason` says what to do instead.
    """

    reason: str
    where: str = ""
    words: str = ""


class ReadSource(Struct, frozen=True):
    """Everything read from the input; `is_read` is false if the worker parses it."""

    bundle: SourceBundle
    found: tuple[FoundObject, ...]
    problems: tuple[FoundProblem, ...]
    files: tuple[ParsedFile, ...] = ()
    is_read: bool = True

    @property
    def can_be_planned(self) -> bool:
        """Return whether there is at least one object, or the worker looks for them."""
        return bool(self.found) or not self.is_read


def _is_kustomization(name: str) -> bool:
    return name.rpartition("/")[2] in KUSTOMIZATIONS


def _find_kustomizations(bundle: SourceBundle) -> Iterator[FoundProblem]:
    """Yield a problem for each kustomization: it must be rendered, or left out."""
    for file in bundle.files:
        if _is_kustomization(file.name):
            folder = file.name.rpartition("/")[0]
            reason = _(
                "this is a kustomization, not an object. To render it, enter %(folder)s as the kustomization folder"
            )
            yield FoundProblem(reason % {"folder": folder or "."}, file.name)


def _find_charts(bundle: SourceBundle) -> Iterator[FoundProblem]:
    """Yield a problem for each chart folder: it must be rendered, or left out."""
    for folder in _list_chart_folders(bundle):
        reason = _("this is a Helm chart, not manifests. To render it, enter %(folder)s as the chart")
        yield FoundProblem(reason % {"folder": folder}, f"{folder}/{CHART_FILE}".removeprefix("./"))


def _list_chart_folders(bundle: SourceBundle) -> list[str]:
    """Return the outermost folders with a Chart.yaml."""
    names = [file.name for file in bundle.files if file.name.rpartition("/")[2] == CHART_FILE]
    folders = sorted(name.rpartition("/")[0] or "." for name in names)
    return [one for one in folders if not any(one.startswith(f"{other}/") for other in folders)]


def _is_of_chart(name: str, folders: list[str]) -> bool:
    return any(folder == "." or name.startswith(f"{folder}/") for folder in folders)


def _present_found(parsed: Iterable[ParsedFile]) -> tuple[FoundObject, ...]:
    refs = [ObjectRef.from_object(document.obj) for file in parsed for document in file.documents]
    return tuple(FoundObject(r.gvk.kind, f"{r.namespace}/{r.name}" if r.namespace else r.name) for r in refs)


def _present_problems(parsed: Iterable[ParsedFile], charts: list[str]) -> tuple[FoundProblem, ...]:
    problems = (p for file in parsed for p in file.problems)
    return tuple(
        FoundProblem(p.advice or p.reason, str(p.position), p.reason if p.advice else "")
        for p in problems
        if not _is_kustomization(p.position.file) and not _is_of_chart(p.position.file, charts)
    )


def _name_empty(bundle: SourceBundle) -> tuple[FoundProblem, ...]:
    """Return why nothing can be planned where nothing is wrong either; kubectl says: no objects passed to apply."""
    reason = _("There is no object here: it is empty or holds nothing but comments.")
    return tuple(FoundProblem(reason, file.name) for file in bundle.files) or (FoundProblem(reason),)


def _present_error(error: SourceError) -> Iterator[FoundProblem]:
    """Yield every problem of sources that could not be read."""
    match error:
        case UnreadSourcesError():
            for one in error.errors:
                yield from _present_error(one)
            yield from _present_problems(error.files, [])
        case RefusedFilesError():
            yield from (FoundProblem(one.reason, one.name) for one in error.received.refused)
        case UnreadLinksError():
            for number, reason in error.reasons.items():
                yield FoundProblem(reason, hide_query(error.links[number]))
        case DuplicateObjectsError():
            yield from (FoundProblem(problem.reason, str(problem.position)) for problem in error.problems)
        case _:
            yield FoundProblem(str(error))


def read_source(given: ReviewInput, *, by: Person, may_wait: bool = False) -> ReadSource:
    """Freeze and parse manifests; fetches links and repositories.

    - `may_wait`: large sources are parsed by the worker that plans them.
    """
    try:
        taken = read_manifests(given, by=by, may_wait=may_wait)
    except SourceError as error:
        return ReadSource(SourceBundle(), (), tuple(_present_error(error)))
    if not taken.is_read:
        return ReadSource(taken.bundle, (), (), is_read=False)
    of_channel = (FoundProblem(p.reason, str(p.position)) for p in (*taken.channel_problems, *taken.missing_manifests))
    charts = _list_chart_folders(taken.bundle)
    problems = (
        *_find_charts(taken.bundle),
        *_find_kustomizations(taken.bundle),
        *_present_problems(taken.files, charts),
        *of_channel,
    )
    found = _present_found(taken.files)
    return ReadSource(taken.bundle, found, problems if found or problems else _name_empty(taken.bundle), taken.files)
