"""Intake of manifests for forms, API, links and git: collected, rendered or fetched, then parsed once.

`applyviz.sources` limits sizes and hosts; nothing is stored here. Parsing happens in a child process; large sources may
wait for the worker that plans them, so that a request is answered soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, Protocol
from urllib.parse import urlsplit

from django.conf import settings
from msgspec import Struct

from applyviz import clock
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import PlanProblem
from applyviz.records.models import Cluster
from applyviz.sources import archives, kustomize, links, upload, url
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts.model import ChartSource, RenderedChart
from applyviz.sources.git.model import GitSource
from applyviz.sources.pinned import FetchPolicy
from applyviz.sources.rendering.choose import make_runner
from applyviz.sources.sandboxed import read_files
from applyviz.sources.upload import is_manifest_name
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import charts, git_sources, source_mix
from applyviz.workflow.plans.channel_links import fetch_addons
from applyviz.workflow.plans.channels import find_missing, read_channel
from applyviz.workflow.plans.chart_notes import MOST, MOST_WARNINGS, mask_notes

PASTED = "pasted.yaml"
_AT_ONCE, _LONGEST_NAME = 4, 400
QUICK_BYTES = 128 * 1024
"""Sources up to this size are always parsed at once: that takes a fraction of a second."""


class Upload(Protocol):
    """An uploaded file, which is read once."""

    def read(self) -> bytes:
        """Return its bytes."""


class ReviewInput(Struct, frozen=True):
    """The input of a review: files by their paths, a text, links, a git repository, or several of them.

    - `files`: bytes, or uploads that the intake reads.
    - `kustomization` names the folder among the files to render; "" renders nothing, "." is their root. A repository
      names its own.
    - `chart` is rendered for `cluster` and `namespace`; its files and values are among the files or in the repository,
      or it is fetched.
    """

    files: tuple[tuple[str, bytes | Upload], ...] = ()
    kustomization: str = ""
    text: str = ""
    links: tuple[str, ...] = ()
    git: GitSource | None = None
    chart: ChartSource | None = None
    cluster: Cluster | None = None
    namespace: str = ""


class Intake(Struct, frozen=True):
    """The frozen manifests, and the parsed content of each file; `is_read` is false if the worker parses them."""

    bundle: SourceBundle
    files: tuple[ParsedFile, ...]
    is_read: bool = True

    @property
    def has_objects(self) -> bool:
        """Return whether any file holds an object."""
        return any(file.documents for file in self.files)

    @property
    def channel_problems(self) -> tuple[PlanProblem, ...]:
        """The entries of a kOps channel that cannot be read."""
        channel = read_channel(self.files, self.bundle)
        return () if channel is None else channel.problems

    @property
    def missing_manifests(self) -> tuple[PlanProblem, ...]:
        """The entries of a kOps channel whose manifest is not there; some may be for other versions of Kubernetes."""
        channel = read_channel(self.files, self.bundle)
        return () if channel is None else tuple(find_missing(channel, self.bundle))


@dataclass(eq=False)
class UnreadSourcesError(SourceError):
    """Sources that could not be read: the error of each, and the parsed files of the others with their problems."""

    errors: tuple[SourceError, ...]
    files: tuple[ParsedFile, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.errors))


def _raise_together(errors: Sequence[SourceError], files: tuple[ParsedFile, ...] = ()) -> NoReturn:
    """Raise errors together with the problems of files; raise a single error unchanged if no file has a problem."""
    if len(errors) == 1 and not any(file.problems for file in files):
        raise errors[0]
    raise UnreadSourcesError(tuple(errors), files)


@contextmanager
def _naming(field: str) -> Iterator[None]:
    """Let an error be one of the field that named the source, unless it names another one."""
    try:
        yield
    except SourceError as error:
        raise error.at(error.field or field) from None


def _read_uploads(given: ReviewInput) -> list[tuple[str, bytes]]:
    return [(name, content if isinstance(content, bytes) else content.read()) for name, content in given.files]


def _unpack(files: list[tuple[str, bytes]], into: _ChartIntake) -> Iterator[tuple[str, bytes]]:
    """Yield uploaded files, those of archives unpacked; the error of one is noted, and the others go on."""
    for file in files:
        with into.collecting():
            for name, data in archives.unpack([file]):
                upload.check_file(name, data)
                yield name, data


def _take_files(given: ReviewInput, files: list[tuple[str, bytes]], into: _ChartIntake) -> Iterator[BundledFile]:
    is_rendered = bool(given.kustomization.strip().strip("/"))
    known = len(into.errors)
    try:
        collected = upload.collect(_unpack(files, into), takes_all=is_rendered)
    except upload.NoManifestsError:
        if len(into.errors) == known:
            raise
        return  # the errors of the files say why
    if is_rendered and len(into.errors) > known:
        return  # a rendering of some of the files would be another set of objects
    if is_rendered:
        run = make_runner(settings.APPLYVIZ_RENDERER_SOCKET)
        with _naming("kustomization"):
            yield kustomize.render(collected, upload.clean_path(given.kustomization), run=run)
    else:
        yield from collected.files


@dataclass(slots=True)
class _ChartIntake:
    """The chart that was rendered on the way, and the values that were given for it.

    - `uploaded`: the files of the upload, for a chart that is in the repository; else None.
    - `errors`: those of the sources that could not be read; the others are read all the same.
    """

    chart: RenderedChart | None = None
    values: tuple[bytes, ...] = ()
    uploaded: Mapping[str, bytes] | None = None
    errors: list[SourceError] = field(default_factory=list)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Note the error of a source and go on with the next one."""
        try:
            yield
        except SourceError as error:
            self.errors.append(error)

    def check_limits(self, bundle: SourceBundle) -> None:
        """Refuse sources that are too large together, with the errors of others; they are not parsed."""
        try:
            source_mix.check_limits(bundle)
        except SourceError as error:
            _raise_together([*self.errors, error])

    def refuse(self, bundle: SourceBundle, namespace: str) -> None:
        """Raise the errors together with what is wrong in the files that were read; return without any error."""
        if not self.errors:
            return
        files = read_files(bundle).files if bundle.files else ()
        self.check_duplicates(bundle, files, namespace)
        _raise_together(self.errors, files)

    def check_duplicates(self, bundle: SourceBundle, files: tuple[ParsedFile, ...], namespace: str) -> None:
        """Note objects that two sources name; entries of a channel for several versions may share objects."""
        if read_channel(files, bundle) is None:
            with self.collecting():
                source_mix.check_duplicates(bundle, files, namespace=namespace)


def _take_chart(given: ReviewInput, by: Person, into: _ChartIntake) -> Iterator[BundledFile]:
    """Yield the files of an upload that belong to no chart, then the templates of the chart."""
    chart, files = given.chart, _read_uploads(given)
    if chart is not None:
        collected = upload.collect(files, takes_all=True).files if files else ()
        uploaded = {file.name: file.data for file in collected}
        is_elsewhere = given.git is not None and charts.is_in_repository(chart, uploaded)
        used = frozenset(chart.values_files) if is_elsewhere else charts.list_used(chart, uploaded)
        files = [(file.name, file.data) for file in collected if file.name not in used and is_manifest_name(file.name)]
        into.values = (*(uploaded[name] for name in chart.values_files if name in uploaded), chart.values.encode())
        if is_elsewhere:
            into.uploaded = uploaded
        else:
            with into.collecting(), _naming("chart"):
                into.chart = charts.render_chart(
                    chart, uploaded, cluster=given.cluster, namespace=given.namespace, by=by
                )
    if files:
        with into.collecting():
            yield from _take_files(given, files, into)
    if into.chart is not None:
        yield from into.chart.files


def _take_all(given: ReviewInput, by: Person, into: _ChartIntake) -> Iterator[BundledFile]:
    with into.collecting():
        yield from _take_chart(given, by, into)
    if given.text.strip():
        yield BundledFile(PASTED, given.text.encode(), {"from": "paste"})
    with into.collecting():
        yield from _fetch_links(given.links)
    if given.git is not None:
        with into.collecting(), _naming("git_repository"):
            yield from _take_repository(given, given.git, by, into)


def _take_repository(given: ReviewInput, source: GitSource, by: Person, into: _ChartIntake) -> Iterator[BundledFile]:
    """Yield the files of a repository, or the templates of the chart in it."""
    if given.chart is None or into.uploaded is None:
        yield from git_sources.fetch_files(source, by=by)
        return
    source = charts.name_in_repository(source, given.chart, into.uploaded)
    received = git_sources.fetch_commit(source, by=by)
    into.values += tuple(file.data for file in received.files if file.name in source.values_files)
    with _naming("chart"):
        into.chart = charts.render_fetched(
            given.chart, received, into.uploaded, cluster=given.cluster, namespace=given.namespace, by=by
        )
    yield from into.chart.files


def _fetch_links(given: tuple[str, ...]) -> Iterator[BundledFile]:
    """Fetch every link, several at once; raises `UnreadLinksError` with all that failed, after the others."""
    if len(given) > links.MOST_LINKS:
        raise SourceError(f"more than {links.MOST_LINKS} links")
    if not given:
        return
    found = _fetch_each(given)
    yield from (one for one in found if isinstance(one, BundledFile))
    failed = {n: str(one) for n, one in enumerate(found) if isinstance(one, SourceError)}
    if failed:
        raise links.UnreadLinksError(given, failed)


def _fetch_each(given: Sequence[str]) -> list[BundledFile | SourceError]:
    """Fetch addresses, several at once; return the file or the error of each."""
    policy = FetchPolicy(internal=settings.APPLYVIZ_LINK_HOSTS, ca_file=settings.APPLYVIZ_LINK_CA_FILE)
    fetch = partial(_try_fetch, policy=policy, now=clock.host_now().isoformat())
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="link") as pool:
        found = list(pool.map(fetch, given))
    if sum(len(one.data) for one in found if isinstance(one, BundledFile)) > upload.DEFAULT_LIMITS.total_bytes:
        raise SourceError(
            f"the linked files are together larger than {upload.DEFAULT_LIMITS.total_bytes:,} bytes together"
        )
    return found


def _try_fetch(link: str, *, policy: FetchPolicy, now: str) -> BundledFile | SourceError:
    try:
        return url.fetch(link, policy=policy, now=now)
    except SourceError as error:
        return error


def _qualify(file: BundledFile) -> str:
    """Return the name of a fetched file with its host and path; of another file, its name."""
    if "final_url" in file.provenance:
        parts = urlsplit(file.provenance["final_url"])
        return f"{parts.hostname}{parts.path}"[-_LONGEST_NAME:]
    if charts.is_rendered(file):
        return f"helm/{file.name}"[-_LONGEST_NAME:]
    if "repository" in file.provenance:
        parts = urlsplit(file.provenance["repository"])
        return f"{parts.hostname}{parts.path}/{file.name}"[-_LONGEST_NAME:]
    return file.name


def _name_apart(files: Iterable[BundledFile]) -> Iterator[BundledFile]:
    """Give a fetched file whose name is taken its host and path as its name."""
    taken = set()
    for file in files:
        name = file.name
        if name in taken:
            name = _qualify(file)
        taken.add(name)
        yield replace(file, name=name)


def _add_notes(bundle: SourceBundle, rendered: _ChartIntake, files: tuple[ParsedFile, ...]) -> SourceBundle:
    """Return a bundle whose rendered files carry the release notes of their chart, and the warnings of helm."""
    if rendered.chart is None:
        return bundle
    given = {"notes": (rendered.chart.notes, MOST), "warnings": (rendered.chart.warnings, MOST_WARNINGS)}
    known = rendered.chart.credentials
    texts = {
        name: mask_notes(text, files, rendered.values, known, most=most) for name, (text, most) in given.items() if text
    }
    files_with_notes = tuple(
        replace(file, provenance={**file.provenance, **texts}) if charts.is_rendered(file) else file
        for file in bundle.files
    )
    return replace(bundle, files=files_with_notes)


def read_manifests(given: ReviewInput, *, by: Person, may_wait: bool = False) -> Intake:
    """Freeze the input and parse it once; fetches links and repositories.

    - `may_wait`: a large source that needs no choice by its objects is not parsed: the worker that plans it does.
    - Raises `SourceError` for input that is too large, unreachable or cannot be rendered, or that names an object in
      two sources; `UnreadSourcesError` if several errors meet, or one meets problems of documents. Without an
      error, problems of single documents do not raise: they are in the files.
    """
    rendered = _ChartIntake()
    bundle = SourceBundle.of(_name_apart(_take_all(given, by, rendered)))
    rendered.check_limits(bundle)
    rendered.refuse(bundle, given.namespace)
    if may_wait and given.chart is None and bundle.size > QUICK_BYTES and source_mix.is_plain(bundle):
        return Intake(bundle, (), is_read=False)
    found = read_files(bundle)
    whole = fetch_addons(bundle, found.files, _fetch_each)
    found = found if whole is bundle else read_files(whole)
    rendered.check_duplicates(whole, found.files, given.namespace)
    if rendered.errors:
        _raise_together(rendered.errors, found.files)
    whole = replace(whole, lines=found.lines)
    return Intake(_add_notes(whole, rendered, found.files), found.files)
