"""Render a chart with helm, isolated, and keep each template apart with its provenance.

Rule: https://helm.sh/docs/helm/helm_template/: `helm template` prints one document after the other, each below a
comment that names its template. It asks no cluster, so `lookup` finds nothing. Helm's hooks are printed too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from applyviz.engine.diff.given_credentials import hide_credentials, list_credentials, list_defaults
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.sources.bundle import BundledFile
from applyviz.sources.charts import packages
from applyviz.sources.charts.model import HELM, ChartFacts, ChartPackage, ChartSource, ChartTarget, RenderedChart
from applyviz.sources.charts.packages import CHART_FILE, find_missing, read_facts
from applyviz.sources.rendering.choose import Runner
from applyviz.sources.rendering.job import DEFAULT_LIMITS, Rendered, RenderJob

_NOTES = "templates/NOTES.txt"
_OWN_NOTES = "templates/applyviz-notes.yaml"
# `include` renders a template by its path; as JSON, any text becomes one line.
_NOTES_TEMPLATE = b'notes: {{ include (print $.Template.BasePath "/NOTES.txt") . | toJson }}\n'
_MOST_NOTES, _MOST_ERROR = 100_000, 600
_SOURCE = re.compile(rb"(?m)^---\n# Source: ([^\n]+)\n")
_ERROR = re.compile(r"(?ms)^Error: (.*?)(?:\nUse --debug flag|\Z)")
_LOGGED = re.compile(r'(?m)^level=[A-Z]+ msg="((?:[^"\\]|\\.)*)"(.*)$')
_LOOKUP = re.compile(rb"\blookup\s+[\"(.$`]")
_RELEASE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_VERSION = re.compile(r"v?[0-9]+\.[0-9]+(\.[0-9]+)?")
MOST_RELEASE = 53
_BLOCK = 512  # of a header in an archive


def check_release(name: str) -> None:
    """Raise `SourceError` for a name that Helm gives to no release."""
    if name and (len(name) > MOST_RELEASE or not _RELEASE.match(name)):
        rule = f"lowercase letters, digits, dashes and dots, at most {MOST_RELEASE}"
        raise SourceError(f"the release name {name[:80]!r} is not usable: {rule}").at("chart_release")


def _list_arguments(release: str, values: Sequence[str], target: ChartTarget) -> Iterator[str]:
    yield from ("--namespace", target.namespace, "--include-crds")
    version = _VERSION.match(target.kube_version)
    if version is not None:
        yield from ("--kube-version", version[0])
    for name in target.api_versions:
        yield from ("--api-versions", name)
    for name in values:
        yield from ("--values", name)


def _place_values(source: ChartSource, uploaded: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the values files under names of our own, in their order; raises `SourceError` for one that is missing."""
    missing = [name for name in source.values_files if name not in uploaded]
    if missing:
        raise SourceError(f"the values file {', '.join(missing)} is not in the upload").at("chart_values_files")
    texts = [uploaded[name] for name in source.values_files]
    if source.values.strip():
        texts.append(source.values.encode())
    return {f"values/{number}.yaml": text for number, text in enumerate(texts, 1)}


def _name_values(source: ChartSource, message: str) -> str:
    """Return an error of helm with the names that the person gave."""
    names = [*source.values_files, "the values"]
    for number, name in enumerate(names, 1):
        message = message.replace(f"values/{number}.yaml", name)
    return message


def _place_chart(package: ChartPackage) -> tuple[str, dict[str, bytes]]:
    if package.archive:
        return "./chart.tgz", {"chart.tgz": package.archive}
    return "./chart", _as_folder(package)


def _as_folder(package: ChartPackage) -> dict[str, bytes]:
    return {f"chart/{name}": data for name, data in package.files.items()}


def find_error(errors: str, given: Iterable[str] = ()) -> str:
    """Return what helm says after `Error:`, without its advice about debugging, as one line; "" if it says nothing.

    - `given`: the credentials that are hidden, before the text is cut.
    - Of a long one the beginning names the template and its line, and the end says why: the middle is left out.
    """
    found = _ERROR.search(errors)
    text = hide_credentials(" ".join(found[1].split()), given) if found else ""
    if len(text) <= _MOST_ERROR:
        return text
    half = _MOST_ERROR // 2
    return f"{text[:half]} … {text[-half:]}"


def find_warnings(errors: str) -> str:
    """Return what helm says although it rendered the chart, one sentence per line; "" if it says nothing.

    - Helm leaves an object out, for example, whose hook it does not know.
    """
    texts = (f"{text}{facts}".replace('\\"', '"') for text, facts in _LOGGED.findall(errors))
    return "\n".join(dict.fromkeys(texts))


def _list_values(package: ChartPackage) -> Iterator[str]:
    """Yield the default values of a chart and of its sub-charts, packed ones included."""
    for files in (package.files, *_list_packed(package.files)):
        yield from (data.decode("utf-8", "replace") for name, data in files.items() if "values" in name)


def _run_helm(job: RenderJob, package: ChartPackage, source: ChartSource, run: Runner) -> Rendered:
    found = run(job, DEFAULT_LIMITS)
    if found.code:
        values = (data.decode("utf-8", "replace") for name, data in job.files if name.startswith("values/"))
        given = {one for text in (*values, *_list_values(package)) for one in list_credentials(text)}
        hidden = hide_credentials(found.errors, given)
        message = find_error(hidden, given) or replace(found, errors=hidden).last_error
        raise SourceError(f"helm cannot render the chart: {_name_values(source, message)}")
    return found


def split_templates(output: bytes, chart: str) -> dict[str, bytes]:
    """Return the documents of each template, templates and documents in the order in which helm printed them."""
    parts = _SOURCE.split(output)
    found: dict[str, list[bytes]] = {}
    if parts[0].strip():
        found[chart] = [parts[0]]
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        shown = name.decode("utf-8", "replace")[:390]
        found.setdefault(shown, []).append(b"---\n# Source: " + name + b"\n" + text)
    return {name: b"".join(documents) for name, documents in found.items()}


def _read_notes(package: ChartPackage, arguments: Sequence[str], values: Mapping[str, bytes], run: Runner) -> str:
    """Return the release notes, "" without any; notes that cannot be rendered stop nothing."""
    if _NOTES not in package.files:
        return ""
    files = {**_as_folder(package), f"chart/{_OWN_NOTES}": _NOTES_TEMPLATE, **values}
    words = ("template", arguments[0], "./chart", *arguments[1:], "--show-only", _OWN_NOTES)
    found = run(RenderJob(HELM, words, tuple(files.items())), DEFAULT_LIMITS)
    line = re.search(rb"(?m)^notes: (.*)$", found.output)
    try:
        return str(json.loads(line[1]))[:_MOST_NOTES].strip() if line and not found.code else ""
    except ValueError:
        return ""


def _list_packed(files: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield the files of each packed sub-chart, as far as all of them together are not larger than a chart may be."""
    left = packages.MOST_UNPACKED
    for name, data in files.items():
        if name.startswith("charts/") and packages.is_archive_name(name) and left > 0:
            try:
                found = packages.list_members(data, name)
            except SourceError:
                return  # helm reads no such chart either
            left -= sum(len(text) + len(path) + _BLOCK for path, text in found.items())
            yield found


def _calls_lookup(files: Mapping[str, bytes]) -> bool:
    """Return whether a template asks the cluster for objects, also one of a packed sub-chart."""
    every = (files, *_list_packed(files))
    return any(_LOOKUP.search(data) for one in every for name, data in one.items() if "templates/" in name)


def _describe(facts: ChartFacts, release: str, package: ChartPackage, target: ChartTarget) -> dict[str, str]:
    known = {
        "from": HELM,
        "chart": facts.name,
        "chart_version": facts.version,
        "app_version": facts.app_version,
        "release": release,
        "namespace": target.namespace,
        "kube_version": target.kube_version,
        "api_versions": str(len(target.api_versions)),
        "lookup": "yes" if _calls_lookup(package.files) else "",
    }
    return {**{k: v for k, v in package.origin.items() if k != "from"}, **{k: v for k, v in known.items() if v}}


def _check(facts: ChartFacts, package: ChartPackage, source: ChartSource) -> None:
    if facts.kind == "library":
        raise SourceError(f"{facts.name} is a library chart: it has no manifests")
    if source.version and source.version.removeprefix("v") != facts.version.removeprefix("v"):
        text = f"{CHART_FILE} says version {facts.version}, and version {source.version} was asked for"
        raise SourceError(text).at("chart_version")
    missing = find_missing(package, facts)
    if missing:
        raise SourceError(
            f"the chart names sub-charts that it does not hold: {', '.join(missing)}; run helm dependency build, and "
            "bring its folder charts/ too"
        )


def render(
    package: ChartPackage, source: ChartSource, uploaded: Mapping[str, bytes], *, target: ChartTarget, run: Runner
) -> RenderedChart:
    """Render a chart; raises `SourceError` with the reason of a refusal.

    - `uploaded`: the files among which values files are named.
    """
    facts = read_facts(package)
    _check(facts, package, source)
    release = source.release or facts.name
    check_release(release)
    values = _place_values(source, uploaded)
    arguments = (release, *_list_arguments(release, tuple(values), target))
    path, files = _place_chart(package)
    job = RenderJob(HELM, ("template", release, path, *arguments[1:]), tuple({**files, **values}.items()))
    found = _run_helm(job, package, source, run)
    provenance = _describe(facts, release, package, target)
    rendered = tuple(
        BundledFile(name, data, {**provenance, "template": name})
        for name, data in split_templates(found.output, facts.name).items()
    )
    notes = _read_notes(package, arguments, values, run)
    known = frozenset(one for text in _list_values(package) for one in list_defaults(text))
    return RenderedChart(rendered, notes, provenance, find_warnings(found.errors), known)
