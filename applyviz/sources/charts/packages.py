"""Read the files of a chart out of an archive or a folder, with limits; nothing is written and nothing runs.

Rule: https://helm.sh/docs/topics/charts/: an archive holds one folder of the chart's name with `Chart.yaml` in it.
"""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterable, Mapping

from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.stream import decode_text
from applyviz.engine.manifests.yaml_tree import TreeReader
from applyviz.engine.objects.errors import ManifestError, SourceError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.sources.charts import tar
from applyviz.sources.charts.model import ChartFacts, ChartPackage
from applyviz.sources.upload import clean_name, holds_prefix

CHART_FILE = "Chart.yaml"
ARCHIVES = (".tgz", ".tar.gz")
MOST_UNPACKED = 40 * 1024 * 1024
MOST_FILES = 5_000
_LIMITS = ReadLimits(depth=30, values=20_000, document_bytes=1024 * 1024)
_GZIP = 31  # zlib's window size for gzip


def is_archive_name(name: str) -> bool:
    """Return whether a file is an archive, by its name."""
    return name.endswith(ARCHIVES)


def _gunzip(data: bytes, name: str) -> bytes:
    reader = zlib.decompressobj(_GZIP)
    try:
        found = reader.decompress(data, MOST_UNPACKED + 1)
    except zlib.error:
        raise SourceError(f"{name} is no archive: it is not compressed with gzip") from None
    if len(found) > MOST_UNPACKED:
        raise SourceError(f"{name} unpacks to more than {MOST_UNPACKED:,} bytes")
    if reader.unused_data:  # helm reads it as part of the archive; the checks here do not
        raise SourceError(f"{name} is no archive: other data follows it")
    return found


def list_members(data: bytes, name: str) -> dict[str, bytes]:
    """Return the files in an archive by their paths; raises `SourceError` for one that is broken or too large."""
    found: dict[str, bytes] = {}
    try:
        for path, content in tar.list_files(_gunzip(data, name)):
            found[clean_name(path)] = content
            if len(found) > MOST_FILES:
                raise SourceError(f"{name} holds more than {MOST_FILES:,} files")
    except ValueError:
        raise SourceError(f"{name} is no archive: it cannot be unpacked") from None
    return found


def list_charts(members: Iterable[str]) -> list[str]:
    """Return the folders at the top of an archive that are charts."""
    return sorted(
        {path.partition("/")[0] for path in members if path.endswith(f"/{CHART_FILE}") and path.count("/") == 1}
    )


def read_archive(data: bytes, name: str, origin: Mapping[str, str]) -> ChartPackage:
    """Return the chart in an archive; raises `SourceError` if there is none."""
    members = list_members(data, name)
    roots = list_charts(members)
    if len(roots) != 1:
        raise SourceError(f"{name} is not a chart archive: it needs one folder with {CHART_FILE}")
    files = {path.partition("/")[2]: text for path, text in members.items() if path.startswith(f"{roots[0]}/")}
    return ChartPackage(files, data, origin)


def read_folder(files: Mapping[str, bytes], folder: str, *, within: str = "upload") -> ChartPackage:
    """Return the chart in a folder of an upload or a repository; raises `SourceError` if there is none."""
    root = "" if folder in ("", ".") else f"{posixpath.normpath(folder)}/"
    found = {name.removeprefix(root): data for name, data in files.items() if name.startswith(root)}
    if CHART_FILE not in found:
        raise SourceError(f"{folder or '.'} is no chart: there is no {root}{CHART_FILE} in the {within}")
    return ChartPackage(found, b"", {"from": within, "chart_folder": folder or "."})


def _read_yaml(data: bytes, name: str) -> JSONObject:
    try:
        value = TreeReader(name, 1, _LIMITS).read(decode_text(data).encode("utf-8", "replace")).value
    except ManifestError as error:
        raise SourceError(str(error)) from None
    if not isinstance(value, dict):
        raise SourceError(f"{name}: it must be a mapping")
    return value


def _text(value: JSONValue) -> str:
    return str(value) if isinstance(value, (str, int, float)) else ""


def read_facts(package: ChartPackage) -> ChartFacts:
    """Return what the Chart.yaml of a chart says; raises `SourceError` with file, line and reason."""
    value = _read_yaml(package.files[CHART_FILE], CHART_FILE)
    name, version = _text(value.get("name")), _text(value.get("version"))
    if not name or not version:
        raise SourceError(f"{CHART_FILE}: it must name the chart and its version")
    listed = value.get("dependencies")
    dependencies = tuple(
        (_text(one.get("name")), _text(one.get("version")))
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict)
    )
    kind = _text(value.get("type")) or "application"
    return ChartFacts(name, version, _text(value.get("appVersion")), kind, dependencies)


def _list_below(package: ChartPackage) -> set[str]:
    """Return the folders and archives below charts/, and the names that the charts in these folders have."""
    found: set[str] = set()
    for path, data in package.files.items():
        parts = path.split("/")
        if parts[0] == "charts" and len(parts) > 1:
            found.add(parts[1])
            if parts[2:] == [CHART_FILE]:
                found.add(_text(_read_yaml(data, path).get("name")))
    return found


def find_missing(package: ChartPackage, facts: ChartFacts) -> tuple[str, ...]:
    """Return the sub-charts that Chart.yaml names and the chart does not hold; a folder may have another name."""
    below = _list_below(package)
    archives = sorted(filter(is_archive_name, below))
    return tuple(name for name, _ in facts.dependencies if name not in below and not holds_prefix(archives, f"{name}-"))
