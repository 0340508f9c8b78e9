"""The disposable process that parses the index of a chart repository: limits first, then bytes, then one answer."""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from typing import BinaryIO

import yaml

from applyviz.engine.objects.values import JSONValue
from applyviz.sources.child import limit_self

_NEWEST = 5
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _find(index: JSONValue, chart: str, version: str) -> dict[str, str]:
    entries = index.get("entries") if isinstance(index, Mapping) else None
    if not isinstance(entries, Mapping):
        return {"error": "the address is not a chart repository: its index.yaml has no entries"}
    listed = entries.get(chart)
    rows = [row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, Mapping)]
    if not rows:
        return {"error": f"the repository has no chart {chart}"}
    for row in rows:
        urls = row.get("urls")
        if str(row.get("version")).removeprefix("v") == version.removeprefix("v") and isinstance(urls, list) and urls:
            return {"address": str(urls[0])[:4000], "digest": str(row.get("digest") or "")}
    newest = ", ".join(str(row.get("version"))[:40] for row in rows[:_NEWEST])
    return {"error": f"the repository has no version {version} of {chart}; its newest are {newest}"}


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the entry of one version of one chart."""
    header = json.loads(source.readline())
    gc.disable()  # a short-lived process does not need collection
    limit_self(header["memory_bytes"], header["cpu_seconds"])
    try:
        index = yaml.load(source.read(header["size"]), Loader=_LOADER)  # noqa: S506 - a safe loader
        found = _find(index, header["chart"], header["version"])
    except (yaml.YAMLError, ValueError, RecursionError):
        found = {"error": "the index.yaml of the repository is not valid YAML"}
    target.write(json.dumps(found).encode())
    target.flush()
