"""Record what the real kubectl and API server do with inputs of the playground.

`python -m tests.controlplane.playground_record FOLDER` writes `playground.jsonl.gz`, one input with its answer a line,
for `manage.py conformance`; with `kinds` behind it, it writes `playground-kinds.jsonl.gz`, the inputs of every kind;
with `kinds SEED`, it writes `playground-SEED.jsonl.gz`, other inputs of every kind; with `rules`, it writes
`playground-rules.jsonl.gz`, what rules refuse; with `everyday`, `playground-everyday.jsonl.gz`, what people try; with
`further`, `playground-further.jsonl.gz`, objects of several field managers, directives, rules of custom resources; with
`owners`, `playground-owners.jsonl.gz`, objects whose last-applied belongs to another manager or to nobody.
The live object of an input is read from the server, with its field owners.
"""

from __future__ import annotations

import copy
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import yaml

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER
from applyviz.engine.schema.builtin import bundled
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane, Server
from tests.controlplane.fixed_fields import Asker
from tests.controlplane.kubectl_side import wait_until_established
from tests.controlplane.playground_kinds import list_kind_inputs, list_rule_inputs, place_inputs
from tests.yaml_files import read_yaml

HERE = Path(__file__).parent
FILE = "playground.jsonl.gz"
KINDS_FILE = "playground-kinds.jsonl.gz"
RULES_FILE = "playground-rules.jsonl.gz"
EVERYDAY_FILE = "playground-everyday.jsonl.gz"
FURTHER_FILE = "playground-further.jsonl.gz"
OWNERS_FILE = "playground-owners.jsonl.gz"
_WORKERS = 2
# Kinds of which only one object can be live: of one name, or of one port of all nodes.
_ALONE = ("CustomResourceDefinition", "Service")
OPERATION = "playground"
Input = Mapping[str, Any]
Fields = Mapping[str, Any]


def list_inputs() -> Iterator[Input]:
    """Return the inputs by hand, and those of one field at a time."""
    yield from read_yaml(HERE / "playground-inputs.yaml")["inputs"]
    yield from _list_rows(read_yaml(HERE / "playground-fields.yaml"))


def list_everyday_inputs() -> Iterator[Input]:
    """Return everyday inputs, object by object; new objects use one of the modes."""
    written = read_yaml(HERE / "playground-everyday.yaml")
    for name, obj in written["objects"].items():
        fields = [one for one in written["fields"] if one["object"] == name]
        rows = (dict(one) for one in _list_rows({**written, "fields": fields}, is_new_once=True))
        yield from place_inputs(obj, written["definitions"].get(name, ""), rows)


def list_further_inputs() -> Iterator[Input]:
    """Return further inputs, object by object; their objects are those of the everyday inputs and some more."""
    everyday = read_yaml(HERE / "playground-everyday.yaml")
    further = read_yaml(HERE / "playground-further.yaml")
    written = {part: {**everyday[part], **further[part]} for part in ("objects", "definitions")}
    for name, obj in written["objects"].items():
        fields = [one for one in further["fields"] if one["object"] == name]
        rows = (dict(one) for one in _list_rows({**written, "fields": fields}, is_new_once=True))
        yield from place_inputs(obj, written["definitions"].get(name, ""), rows)


def list_owner_inputs() -> Iterator[Input]:
    """Return the inputs whose last-applied belongs to another manager, or to nobody."""
    yield from read_yaml(HERE / "playground-owners.yaml")["inputs"]


def _list_rows(written: Mapping[str, Any], *, is_new_once: bool = False) -> Iterator[Input]:
    seen: dict[str, int] = {}
    for fields in written["fields"]:
        definition = written["definitions"].get(fields["object"], "")
        for number, row in enumerate(fields["rows"]):
            once = (("client", "server")[number % 2],) if is_new_once and row.get("new") else ()
            for mode in once or fields.get("modes", ("client", "server")):
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
    before += [_read_step(step, obj, path, fields.get("from", mode)) for step in row.get("steps", ())]
    chosen = {key: row[key] for key in ("manager", "force") if key in row}
    return {"before": before, "manifest": _render(obj, path, row, "manifest"), "mode": mode, **chosen}


def _read_step(step: Mapping[str, Any], obj: JSONObject, path: Sequence[str], mode: str) -> Sequence[Any]:
    """Return the step of another person; `part` is all that they apply beside the name."""
    named = {key: obj[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": obj["metadata"]["name"]}}
    target = f"{obj['kind'].lower()}/{obj['metadata']['name']}"
    match step:
        case {"scale": count}:
            return ("scale", target, str(count))
        case {"part": part, "by": manager}:
            return ("server", _render(merge(named, part), ["kind"], {"kind": obj["kind"]}, "kind"), manager)
        case {"apply": value, "by": manager}:
            return ("server", _render(obj, path, {"value": value}, "value"), manager)
        case {"apply": value}:
            return (mode, _render(obj, path, {"value": value}, "value"))
        case {"patch": patch}:
            return ("patch", json.dumps(named), patch, step.get("by", "kubectl-patch"), step.get("to", ""))
        case {"replace": value}:
            return ("replace", _render(obj, path, {"value": value}, "value"))
    raise ValueError(f"unknown step {step}")


def merge(obj: Any, part: Any) -> Any:
    """Return an object with a part put into it."""
    if not isinstance(obj, dict) or not isinstance(part, dict):
        return part
    return {**obj, **{key: merge(obj.get(key), value) for key, value in part.items()}}


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


def _manage(plane: Server, namespace: str, step: Sequence[Any], *, has_status: bool) -> None:
    """Carry out one step of another person.

    - `has_status`: a write of the object does not reach the status of its kind.
    """
    act, text, *rest = step
    in_namespace = ("-n", namespace)
    if act == "client":
        plane.kubectl("apply", *in_namespace, "-f", "-", stdin=text)
    elif act == "server":
        manager = next(iter(rest), SERVER_SIDE_MANAGER)
        flags = ("--server-side", "--force-conflicts", f"--field-manager={manager}")
        plane.kubectl("apply", *in_namespace, *flags, "-f", "-", stdin=text)
    elif act == "edit":
        named = yaml.safe_load(text)
        target = (named["kind"].lower(), named["metadata"]["name"], "--field-manager=kubectl-edit")
        if has_status and rest[0][0] == "status":
            change = json.dumps(_nest(rest[0], rest[1]))
            plane.kubectl("patch", *in_namespace, *target, "--subresource=status", "--type=merge", "-p", change)
        else:
            patch = [_make_edit(named, rest[0], rest[1])]
            plane.kubectl("patch", *in_namespace, *target, "--type=json", "-p", json.dumps(patch))
    elif act == "replace":
        plane.kubectl("replace", *in_namespace, "-f", "-", stdin=text)
    elif act == "patch":
        named = yaml.safe_load(text)
        patch, manager, subresource = rest
        flags = (named["kind"].lower(), named["metadata"]["name"], "--type=merge", "-p", json.dumps(patch))
        flags += (f"--field-manager={manager}", *([f"--subresource={subresource}"] if subresource else []))
        plane.kubectl("patch", *in_namespace, *flags)
    elif act == "set-image":
        plane.kubectl("set", "image", *in_namespace, text, *rest)
    elif act == "scale":
        plane.kubectl("scale", *in_namespace, text, f"--replicas={rest[0]}")
    else:
        raise ValueError(f"unknown step {act}")


def _make_edit(obj: JSONObject, path: Sequence[str], value: Any) -> JSONObject:
    """Return the operation of a JSON patch that sets a field, with the parents that it lacks."""
    holder: Any = obj
    for depth, step in enumerate(path[:-1]):
        holder = holder[int(step)] if isinstance(holder, list) else holder.get(step)
        if holder is None:
            return {"op": "add", "path": "/" + "/".join(path[: depth + 1]), "value": _nest(path[depth + 1 :], value)}
    return {"op": "add", "path": "/" + "/".join(path), "value": value}


def _nest(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _find_path(namespace: str, text: str, crds: str) -> str:
    """Return where the object of a text is served."""
    obj = yaml.safe_load(text)
    gvk, name = GroupVersionKind.from_object(obj), obj["metadata"].get("name", "")
    if crds:
        spec = yaml.safe_load(crds)["spec"]
        within = f"namespaces/{namespace}/" if spec["scope"] == "Namespaced" else ""
        return f"/apis/{gvk.api_version}/{within}{spec['names']['plural']}/{name}"
    resource = bundled().find_resource(gvk)
    assert resource is not None, gvk
    return resource.path(namespace, name)


def _has_status(crds: str) -> bool:
    return any("status" in version.get("subresources", {}) for version in _list_versions(crds))


def _list_versions(crds: str) -> list[JSONObject]:
    return yaml.safe_load(crds)["spec"]["versions"] if crds else []  # type: ignore[no-any-return]  # read from YAML


def _remove(asker: Asker, path: str) -> None:
    """Remove an object of which there can be only one, and wait until it is gone."""
    asker.ask("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    asker.ask("DELETE", path, None)
    deadline = time.monotonic() + 30
    while asker.ask("GET", path, None)[0] != 404:
        assert time.monotonic() < deadline, f"{path} was not removed in time"
        time.sleep(0.05)


def define(plane: Server, definition: str) -> None:
    """Make the server serve a custom kind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "crds.yaml")
        file.write_text(definition)
        plane.kubectl("apply", "--server-side", "-f", str(file))
        wait_until_established(plane, str(file))


def record(plane: ControlPlane, asker: Asker, one: Input, namespace: str) -> JSONObject:
    """Return an input as the playground gets it, and what the real kubectl made of it.

    - The kinds of the input are served.
    """
    one = json.loads(json.dumps(one).replace("$NAMESPACE", namespace))
    manifest = one["manifest"]
    asker.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    named = one["before"][0][1] if one["before"] else manifest
    path = _find_path(namespace, named, one.get("crds", ""))
    try:
        for step in one["before"]:
            _manage(plane, namespace, step, has_status=_has_status(one.get("crds", "")))
        live = _read_settled(asker, path) if one["before"] else None
        done = _apply(plane, namespace, one)
        expected = {"refusal": done.stderr} if done.returncode else {"after": asker.ask("GET", path, None)[1]}
    finally:
        if yaml.safe_load(named)["kind"] in _ALONE:
            _remove(asker, path)
    given = {
        "manifest": manifest if one.get("is_cluster_scoped") else _place(manifest, namespace),
        "live": json.dumps(live) if live else "",
        "crds": one.get("crds", ""),
        "mode": one["mode"],
        "field_manager": _find_manager(one),
        "is_forced": bool(one.get("force")),
    }
    return {"op": OPERATION, "name": one["name"], "input": given, "expected": expected}


def _read_settled(asker: Asker, path: str) -> JSONObject:
    """Return an object; a definition once its kind is served."""
    deadline = time.monotonic() + 30
    while True:
        live = asker.ask("GET", path, None)[1]
        states = {one["type"]: one["status"] for one in (live.get("status") or {}).get("conditions") or ()}
        if live.get("kind") != "CustomResourceDefinition" or states.get("Established") == "True":
            return live
        assert time.monotonic() < deadline, f"{path} was not served in time"
        time.sleep(0.05)


def _find_manager(one: Input) -> str:
    return one.get("manager") or (SERVER_SIDE_MANAGER if one["mode"] == "server" else CLIENT_SIDE_MANAGER)


def _apply(plane: Server, namespace: str, one: Input) -> CompletedProcess[str]:
    flags = ["-n", namespace, f"--field-manager={_find_manager(one)}"]
    flags += ["--server-side"] if one["mode"] == "server" else []
    flags += ["--force-conflicts"] if one.get("force") else []
    return plane.kubectl("apply", *flags, "-f", "-", stdin=one["manifest"], check=False)


def _place(manifest: str, namespace: str) -> str:
    """Return the manifest with the namespace of the command line."""
    return manifest.replace("metadata: {", f"metadata: {{namespace: {namespace}, ", 1)


def _record_all(plane: ControlPlane, inputs: Iterable[Input]) -> Iterator[JSONObject]:
    """Return the inputs with their answers; an input whose history cannot be carried out is reported and left out."""
    asker = Asker(plane)
    for number, one in enumerate(inputs):
        namespace = f"play-{one.get('group', 'field').replace('.', '-')}-{number}"
        try:
            yield record(plane, asker, one, namespace)
        except AssertionError as error:
            sys.stderr.write(f"{one['name']}: {error}\n")


def _choose(words: Sequence[str]) -> tuple[str, list[Input]]:
    """Return the file that is asked for and its inputs."""
    if "rules" in words:
        return RULES_FILE, list(list_rule_inputs())
    if "further" in words:
        return FURTHER_FILE, list(list_further_inputs())
    if "owners" in words:
        return OWNERS_FILE, list(list_owner_inputs())
    if "everyday" in words:
        return EVERYDAY_FILE, list(list_everyday_inputs())
    is_wide, seed = "kinds" in words, "".join(words[1:])
    file = f"playground-{seed}.jsonl.gz" if seed else KINDS_FILE if is_wide else FILE
    return file, list(list_kind_inputs(seed) if is_wide else list_inputs())


def main(folder: Path, words: Sequence[str]) -> None:
    """Record all inputs, or those of every kind; those of different kinds side by side."""
    folder.mkdir(parents=True, exist_ok=True)
    file, inputs = _choose(words)
    groups = [list(found) for _, found in groupby(inputs, key=lambda one: one.get("group"))]
    with ControlPlane(find_binaries()) as plane, gzip.open(folder / file, "wt", encoding="utf-8") as out:
        for definition in dict.fromkeys(one["crds"] for one in inputs if one.get("crds")):
            define(plane, definition)
        with ThreadPoolExecutor(_WORKERS) as pool:
            for recorded in pool.map(lambda group: list(_record_all(plane, group)), groups):
                out.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in recorded)
                out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
