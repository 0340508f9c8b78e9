"""Several sources in one review: their common limits, objects that two of them name, and how many files each gave.

Sources are read in one order: files of the upload, the chart, the pasted text, links in their order, the repository. An
object of two sources is refused with both positions: which one was meant cannot be known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from applyviz.engine.channels.reading import KIND as CHANNEL
from applyviz.engine.manifests.documents import DocumentProblem, ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts.model import HELM
from applyviz.sources.git.model import GIT
from applyviz.sources.kustomization import NAMES as KUSTOMIZATIONS
from applyviz.sources.links import hide_query

MOST_BYTES, MOST_FILES = 20 * 1024 * 1024, 2_000
"""The limits of all sources of a review together."""
UPLOAD, CHART_FILE = "upload", "Chart.yaml"
_WIDE_CHANNEL = CHANNEL.encode("utf-16-le")[:-1]  # of either byte order
_MOST_NAMED = 20


@dataclass(eq=False)
class DuplicateObjectsError(SourceError):
    """Objects that two sources name; each problem is at the second position and names the first."""

    problems: tuple[DocumentProblem, ...]

    def __str__(self) -> str:
        return "; ".join(f"{problem.position}: {problem.reason}" for problem in self.problems)


def name_kind(provenance: Mapping[str, str]) -> str:
    """Return the kind of the source that a file came from: upload, helm, paste, link or git."""
    if "commit" in provenance or GIT in provenance:
        return GIT
    kind = provenance.get("from", "")
    return UPLOAD if kind == "kustomize" else kind


def count_kinds(bundle: SourceBundle) -> list[tuple[str, int]]:
    """Return each kind of source with the number of its files, in the order in which they are read."""
    return list(Counter(name_kind(file.provenance) for file in bundle.files).items())


def _name_source(file: BundledFile) -> str:
    """Return the source of a file, as an error names it."""
    facts, kind = file.provenance, name_kind(file.provenance)
    if kind == GIT:
        return f"the repository {facts.get('repository', '')}"
    if kind == HELM:
        return f"the chart {facts.get('chart', '')}"
    if "url" in facts:
        return f"the link {hide_query(facts['url'])}"
    return {UPLOAD: "the upload", "paste": "the pasted text"}.get(kind, kind)


def _may_hold_channel(data: bytes) -> bool:
    return CHANNEL.encode() in data or _WIDE_CHANNEL in data


def is_plain(bundle: SourceBundle) -> bool:
    """Return whether a review can be opened before its files are parsed: nothing of it follows from the objects.

    - Not of several sources, whose objects are compared; of a kOps channel, which has more options; or of folders of
      charts and kustomizations, which must be rendered.
    """
    is_single = len({_name_source(file) for file in bundle.files}) == 1
    has_folder = any(file.name.rpartition("/")[2] in (*KUSTOMIZATIONS, CHART_FILE) for file in bundle.files)
    return is_single and not has_folder and not any(_may_hold_channel(file.data) for file in bundle.files)


def check_limits(bundle: SourceBundle) -> None:
    """Refuse sources that are too large together; raises `SourceError`."""
    if bundle.size > MOST_BYTES:
        raise SourceError(f"the manifests of all sources are larger than {MOST_BYTES:,} bytes together")
    if len(bundle.files) > MOST_FILES:
        raise SourceError(f"all sources have more than {MOST_FILES:,} files together")


def _list_documents(files: Iterable[ParsedFile]) -> Iterator[ManifestDocument]:
    for file in files:
        yield from file.documents


def _find_duplicates(
    files: Iterable[ParsedFile], sources: Mapping[str, str], namespace: str
) -> Iterator[DocumentProblem]:
    first: dict[tuple[str, str, str, str], ManifestDocument] = {}
    for document in _list_documents(files):
        ref = ObjectRef.from_object(document.obj)
        position = document.position
        other = first.setdefault((ref.gvk.group, ref.gvk.kind, ref.namespace or namespace, ref.name), document).position
        if ref.name and sources.get(other.file) != sources.get(position.file):
            here, there = sources.get(position.file, ""), sources.get(other.file, "")
            yield DocumentProblem(f"{ref} of {here} is in {there} too, at {other}: keep it in one of them", position)


def check_duplicates(bundle: SourceBundle, files: Iterable[ParsedFile], *, namespace: str) -> None:
    """Refuse objects that two sources name; raises `DuplicateObjectsError` with both positions of each.

    - `namespace`: of objects without one.
    """
    sources = {file.name: _name_source(file) for file in bundle.files}
    if len(set(sources.values())) < 2:
        return
    found = tuple(_find_duplicates(files, sources, namespace or "default"))
    if found:
        raise DuplicateObjectsError(found[:_MOST_NAMED])
