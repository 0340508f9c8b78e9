"""Intake of manifests for forms, API and links: collected, rendered or fetched, then parsed once.

`applyviz.sources` limits sizes and hosts; nothing is stored here. Parsing happens in a child process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.sources import kustomize, upload, url
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.sandboxed import read_bundle

PASTED = "pasted.yaml"


@dataclass(frozen=True, slots=True)
class Given:
    """The input of a review: files by their paths, a text, a link, or several of them.

    - `kustomization` names the folder among the files to render; "" renders nothing, "." is their root.
    """

    files: tuple[tuple[str, bytes], ...] = ()
    kustomization: str = ""
    text: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Intake:
    """The frozen manifests, and the parsed content of each file."""

    bundle: SourceBundle
    files: tuple[ParsedFile, ...]

    @property
    def has_objects(self) -> bool:
        """Return whether any file holds an object."""
        return any(file.documents for file in self.files)


def _take_files(given: Given) -> Iterator[BundledFile]:
    folder = given.kustomization.strip().strip("/")
    collected = upload.collect(given.files, takes_all=bool(folder))
    if folder:
        yield kustomize.render(collected, "" if folder == "." else folder)
    else:
        yield from collected.files


def _take_all(given: Given) -> Iterator[BundledFile]:
    if given.files:
        yield from _take_files(given)
    if given.text.strip():
        yield BundledFile(PASTED, given.text.encode(), {"from": "paste"})
    if given.link:
        policy = url.FetchPolicy(internal=settings.APPLYVIZ_LINK_HOSTS, ca_file=settings.APPLYVIZ_LINK_CA_FILE)
        yield url.fetch(given.link, policy=policy, now=timezone.now().isoformat())


def read_manifests(given: Given) -> Intake:
    """Freeze the input and parse it once; fetches a link.

    - Raises `SourceError` for input that is too large, unreachable or cannot be rendered. Problems of single documents
      do not raise: they are in the files.
    """
    bundle = SourceBundle.of(_take_all(given))
    return Intake(bundle, tuple(read_bundle(bundle)))
