"""A Helm chart that a person names, the cluster that it is rendered for, and the rendered manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from applyviz.sources.bundle import BundledFile

HELM = "helm"
"""The origin of a file, in its provenance."""


class ChartSource(Struct, frozen=True):
    """The chart and its values, as a person names them.

    - `chart`: a folder or archive of the upload or of a git repository, the https address of an archive, an `oci://`
      reference, or the name of a chart in `repository`.
    - `version`: exact; it is required for what a registry or a repository serves.
    - `release`: "" is the name of the chart.
    - `values_files`: names of files of the upload or the git repository, the last one wins; `values`: YAML that wins
      over all of them.
    - `applies_hooks`: hooks are applied as ordinary objects, not left out.
    """

    chart: str
    repository: str = ""
    version: str = ""
    release: str = ""
    values_files: tuple[str, ...] = ()
    values: str = ""
    applies_hooks: bool = False


class ChartTarget(Struct, frozen=True):
    """The cluster and namespace that a chart is rendered for, as templates see them."""

    namespace: str
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChartPackage:
    """The files of a chart: an archive as it came, or a folder; and where it came from.

    - `files`: by their paths below the chart, also those of an archive.
    - `archive`: the bytes of the archive, b"" for a folder.
    """

    files: Mapping[str, bytes] = field(repr=False)
    archive: bytes = field(default=b"", repr=False)
    origin: Mapping[str, str] = field(default_factory=dict)


class ChartFacts(Struct, frozen=True):
    """What Chart.yaml says: name, version and the version of the application; `dependencies` are names and versions."""

    name: str
    version: str
    app_version: str = ""
    kind: str = "application"
    dependencies: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """The rendered templates in their order, each as a file, and the release notes.

    - `facts` become the provenance of every file; `warnings` are what helm said beside them, one per line.
    - `credentials`: what the default values name as one; notes and warnings may repeat it.
    """

    files: tuple[BundledFile, ...]
    notes: str
    facts: Mapping[str, str]
    warnings: str = ""
    credentials: frozenset[str] = field(default=frozenset(), repr=False)
