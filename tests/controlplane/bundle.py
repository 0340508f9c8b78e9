"""Make the data of the bundled minor: python -m tests.controlplane.bundle FOLDER.

Kinds, resources and definitions come from a real kube-apiserver of the release in `go.mod`; what no document says, from
its Go types (`oracle -print`). Written are an index (kinds, resources, empty objects), one file of definitions per Go
package, loaded when asked for, and the tables of Go types.
"""

from __future__ import annotations

import gzip
import json
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from applyviz.engine.schema.discovery import index_kinds, list_strategic
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.controlplane.judge import find_oracle

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLES = ("go_types", "golists", "internal_types")


def _get(plane: ControlPlane, path: str, accept: str = "application/json") -> Any:
    context = ssl.create_default_context(cadata=plane.authority.decode())
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": accept}
    request = urllib.request.Request(plane.url + path, headers=headers)
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        return json.load(answer)


def _list_custom_groups(plane: ControlPlane) -> set[str]:
    """Return the API groups of the custom resources on this server; a Kubernetes release does not contain them."""
    found = _get(plane, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    return {one["spec"]["group"] for one in found}


def read_discovery(plane: ControlPlane) -> list[Any]:
    """The aggregated discovery of a server, without custom groups: the answers to `GET /api` and `GET /apis`."""
    custom = _list_custom_groups(plane)
    documents = [_get(plane, path, _DISCOVERY) for path in ("/api", "/apis")]
    return [
        {**one, "items": [group for group in one["items"] if group["metadata"].get("name") not in custom]}
        for one in documents
    ]


def read_documents(plane: ControlPlane) -> list[Any]:
    """The OpenAPI v3 documents of groups and versions, in the order of their paths, without custom groups."""
    custom = _list_custom_groups(plane)
    paths = _get(plane, "/openapi/v3")["paths"]
    chosen = [name for name in sorted(paths) if name.startswith(("api/", "apis/")) and name.split("/")[1] not in custom]
    return [_get(plane, paths[name]["serverRelativeURL"]) for name in chosen]


def print_table(name: str) -> Any:
    """Return one table of the Go types, as the oracle prints it."""
    return json.loads(subprocess.run([find_oracle(), "-print", name], capture_output=True, check=True).stdout)


def _shorten(schema: Any) -> Any:
    """Write references as `$ref: name` and leave out what the index holds."""
    if isinstance(schema, list):
        return [_shorten(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    every = schema.get("allOf")
    if isinstance(every, list) and len(every) == 1 and set(every[0]) == {"$ref"}:
        schema = {k: v for k, v in schema.items() if k != "allOf"} | every[0]
    short = {k: _shorten(v) for k, v in schema.items() if k != "x-kubernetes-group-version-kind"}
    if isinstance(short.get("$ref"), str):
        short["$ref"] = short["$ref"].rpartition("/")[2]
    return short


def _list_patched(discovery: Iterable[Any]) -> set[str]:
    """The kinds that can be patched, also as a subresource: `apiVersion/Kind`."""
    found = set()
    for group in (group for document in discovery for group in document["items"]):
        for version in group["versions"]:
            for resource in version["resources"]:
                for one in (resource, *resource.get("subresources", ())):
                    kind = one.get("responseKind") or {}
                    if "patch" in one.get("verbs", ()) and kind.get("kind"):
                        home = kind.get("group") or group["metadata"].get("name", "")
                        name = kind.get("version") or version["version"]
                        found.add("/".join(part for part in (home, name, kind["kind"]) if part))
    return found


def make_files(documents: Iterable[Any], discovery: list[Any]) -> dict[str, Any]:
    """The files of the minor by name, from the OpenAPI v3 documents and the discovery of a server."""
    kinds: dict[str, list[Any]] = {}
    packages: dict[str, dict[str, Any]] = {}
    for document in documents:
        strategic = list_strategic(document)
        for gvk, name in index_kinds(document).items():
            kinds.setdefault(f"{gvk.api_version}/{gvk.kind}", [name, gvk in strategic])
            kinds[f"{gvk.api_version}/{gvk.kind}"][1] |= gvk in strategic
        for name, schema in (document.get("components") or {}).get("schemas", {}).items():
            packages.setdefault(name.rpartition(".")[0], {}).setdefault(name, _shorten(schema))
    patched = _list_patched(discovery)
    zero = {kind: value for kind, value in print_table("zero_objects").items() if kind in patched}
    index = {"kinds": kinds, "discovery": discovery, "zero": zero}
    return {**packages, "index": index, **{name: print_table(name) for name in TABLES}}


def main(folder: Path) -> None:
    with ControlPlane(find_binaries()) as plane:
        files = make_files(read_documents(plane), read_discovery(plane))
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
