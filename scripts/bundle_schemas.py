#!/usr/bin/env python3
"""Make the schema data that the package ships: python3 scripts/bundle_schemas.py FOLDER.

FOLDER holds what a kube-apiserver answers, gzipped: `v3/<path>.json.gz` (OpenAPI v3, `/` as `__`),
`aggregated_discovery_api.json.gz`, `aggregated_discovery_apis.json.gz` and `zero_objects.json.gz`. Written are
an index (kinds, resources, empty objects) and one file of definitions per Go package, loaded when asked for.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from applyviz.engine.schema.discovery import index_kinds, list_strategic  # noqa: E402 (needs the path)

TARGET = ROOT / "applyviz/kubernetes/v1_36/data"


def read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def write(name: str, value: Any) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    (TARGET / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def shorten(schema: Any) -> Any:
    """Write references as `$ref: name` and leave out what the index holds."""
    if isinstance(schema, list):
        return [shorten(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    every = schema.get("allOf")
    if isinstance(every, list) and len(every) == 1 and set(every[0]) == {"$ref"}:
        schema = {k: v for k, v in schema.items() if k != "allOf"} | every[0]
    short = {k: shorten(v) for k, v in schema.items() if k != "x-kubernetes-group-version-kind"}
    if isinstance(short.get("$ref"), str):
        short["$ref"] = short["$ref"].rpartition("/")[2]
    return short


def main(folder: Path) -> int:
    kinds: dict[str, list[Any]] = {}
    packages: dict[str, dict[str, Any]] = {}
    for path in sorted((folder / "v3").glob("api*__*.json.gz")):
        document = read(path)
        strategic = list_strategic(document)
        for gvk, name in index_kinds(document).items():
            kinds.setdefault(f"{gvk.api_version}/{gvk.kind}", [name, gvk in strategic])
            kinds[f"{gvk.api_version}/{gvk.kind}"][1] |= gvk in strategic
        for name, schema in (document.get("components") or {}).get("schemas", {}).items():
            packages.setdefault(name.rpartition(".")[0], {}).setdefault(name, shorten(schema))
    TARGET.mkdir(exist_ok=True)
    for package, definitions in packages.items():
        write(package, definitions)
    discovery = [read(folder / f"aggregated_discovery_{n}.json.gz") for n in ("api", "apis")]
    write("index", {"kinds": kinds, "discovery": discovery, "zero": read(folder / "zero_objects.json.gz")})
    size = sum(p.stat().st_size for p in TARGET.glob("*.gz"))
    print(
        f"{len(kinds)} kinds, {sum(map(len, packages.values()))} definitions, {len(packages) + 1} files, {size} bytes"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) if len(sys.argv) == 2 else __doc__)
