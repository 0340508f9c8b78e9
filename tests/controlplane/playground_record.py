"""Record what the real kubectl and API server do with inputs of the playground.

`python -m tests.controlplane.playground_record FOLDER` writes `playground.jsonl.gz`, one input with its answer a line,
for `manage.py conformance`. The live object of an input is read from the server, with its field owners.
"""

from __future__ import annotations

import copy
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import CLIENT_SIDE_MANAGER, SERVER_SIDE_MANAGER
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane, Server
from tests.controlplane.kubectl_side import wait_until_established

HERE = Path(__file__).parent
FILE = "playground.jsonl.gz"
OPERATION = "playground"
Input = Mapping[str, Any]
Fields = Mapping[str, Any]


def list_inputs() -> Iterator[Input]:
    """Return the inputs by hand, and those of one field at a time."""
    yield from yaml.safe_load((HERE / "playground-inputs.yaml").read_text())["inputs"]
    yield from _list_rows(yaml.safe_load((HERE / "playground-fields.yaml").read_text()))


def _list_rows(written: Mapping[str, Any]) -> Iterator[Input]:
    seen: dict[str, int] = {}
    for fields in written["fields"]:
        definition = written["definitions"].get(fields["object"], "")
        for row in fields["rows"]:
            for mode in fields.get("modes", ("client", "server")):
                base = f"{fields['object']}-{fields['path'].split('.')[-1].lower()}-{mode}"
                seen[base] = seen.get(base, 0) + 1
                obj = written["objects"][fields["object"]]
                yield _read_row(row, obj, fields, mode) | {"name": f"{base}-{seen[base]}", "crds": definition}


def _read_row(row: Mapping[str, Any], obj: JSONObject, fields: Fields, mode: str) -> dict[str, Any]:
    path = fields["path"].split(".")
    before: list[Sequence[Any]] = []
    if not row.get("new"):
        before.append((fields.get("from", mode), _render(obj, path, row, "last")))
    if "edit" in row:
        before.append(("edit", _render(obj, path, row, "last"), path, row["edit"]))
    chosen = {key: row[key] for key in ("manager", "force") if key in row}
    return {"before": before, "manifest": _render(obj, path, row, "manifest"), "mode": mode, **chosen}


def _render(obj: JSONObject, path: Sequence[str], row: Mapping[str, Any], part: str) -> str:
    """Return the object with the value of a part of the row at a path, as text; metadata comes first, on a line."""
    changed = copy.deepcopy(dict(obj))
    if part in row:
        _find(changed, path)[path[-1]] = row[part]
    elif path[-1] in _find(changed, path):
        del _find(changed, path)[path[-1]]
    head = f"apiVersion: {changed.pop('apiVersion')}\nkind: {changed.pop('kind')}\n"
    head += f"metadata: {json.dumps(changed.pop('metadata'))}\n"
    return head + yaml.safe_dump(changed, sort_keys=False) if changed else head


def _find(obj: Any, path: Sequence[str]) -> Any:
    for step in path[:-1]:
        obj = obj[int(step)] if step.isdigit() else obj.setdefault(step, {})
    return obj


def _manage(plane: Server, namespace: str, step: Sequence[Any]) -> None:
    """Carry out one step of another person."""
    act, text, *rest = step
    in_namespace = ("-n", namespace)
    if act == "client":
        plane.kubectl("apply", *in_namespace, "-f", "-", stdin=text)
    elif act == "server":
        manager = next(iter(rest), SERVER_SIDE_MANAGER)
        flags = ("--server-side", "--force-conflicts", f"--field-manager={manager}")
        plane.kubectl("apply", *in_namespace, *flags, "-f", "-", stdin=text)
    elif act == "edit":
        patch = [{"op": "add", "path": "/" + "/".join(rest[0]), "value": rest[1]}]
        named = yaml.safe_load(text)
        target = (named["kind"].lower(), named["metadata"]["name"], "--field-manager=kubectl-edit")
        plane.kubectl("patch", *in_namespace, *target, "--type=json", "-p", json.dumps(patch))
    elif act == "set-image":
        plane.kubectl("set", "image", *in_namespace, text, *rest)
    elif act == "scale":
        plane.kubectl("scale", *in_namespace, text, f"--replicas={rest[0]}")
    else:
        raise ValueError(f"unknown step {act}")


def _read(plane: Server, namespace: str, text: str) -> JSONObject | None:
    flags = ("-n", namespace, "-o", "json", "--show-managed-fields", "--ignore-not-found", "-f", "-")
    found = plane.kubectl("get", *flags, stdin=text).stdout
    read: JSONObject | None = json.loads(found) if found else None
    return next(iter(read["items"]), None) if read and read["kind"] == "List" else read


def define(plane: Server, definition: str) -> None:
    """Make the server serve a custom kind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "crds.yaml")
        file.write_text(definition)
        plane.kubectl("apply", "--server-side", "-f", str(file))
        wait_until_established(plane, str(file))


def record(plane: Server, one: Input) -> JSONObject:
    """Return an input as the playground gets it, and what the real kubectl made of it.

    - The kinds of the input are served.
    """
    namespace, manifest = f"play-{one['name']}", one["manifest"]
    plane.kubectl("create", "namespace", namespace)
    for step in one["before"]:
        _manage(plane, namespace, step)
    named = one["before"][0][1] if one["before"] else manifest  # kubectl cannot read every manifest
    live = _read(plane, namespace, named) if one["before"] else None
    is_server = one["mode"] == "server"
    manager = one.get("manager") or (SERVER_SIDE_MANAGER if is_server else CLIENT_SIDE_MANAGER)
    flags = ["-n", namespace, f"--field-manager={manager}", *(["--server-side"] if is_server else [])]
    flags += ["--force-conflicts"] if one.get("force") else []
    done = plane.kubectl("apply", *flags, "-f", "-", stdin=manifest, check=False)
    given = {
        "manifest": _place(manifest, namespace),
        "live": yaml.safe_dump(live, sort_keys=False) if live else "",
        "crds": one.get("crds", ""),
        "mode": one["mode"],
        "field_manager": manager,
        "is_forced": bool(one.get("force")),
    }
    expected = {"refusal": done.stderr} if done.returncode else {"after": _read(plane, namespace, named)}
    return {"op": OPERATION, "name": one["name"], "input": given, "expected": expected}


def _place(manifest: str, namespace: str) -> str:
    """Return the manifest with the namespace of the command line."""
    return manifest.replace("metadata: {", f"metadata: {{namespace: {namespace}, ", 1)


def main(folder: Path) -> None:
    """Record all inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    with ControlPlane(find_binaries()) as plane, gzip.open(folder / FILE, "wt", encoding="utf-8") as out:
        inputs = list(list_inputs())
        for definition in dict.fromkeys(one["crds"] for one in inputs if one.get("crds")):
            define(plane, definition)
        for one in inputs:
            out.write(json.dumps(record(plane, one), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
