"""Record what the real kubectl and API server do with inputs of the playground.

`python -m tests.controlplane.playground_record FOLDER` writes `playground.jsonl.gz`, one input with its answer a line,
for `manage.py conformance`. The live object of an input is read from the server, with its field owners.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
Input = Mapping[str, Any]


def list_inputs() -> list[Input]:
    """Return the inputs by hand."""
    return list(yaml.safe_load((HERE / "playground-inputs.yaml").read_text())["inputs"])


def _manage(plane: Server, namespace: str, step: Sequence[str]) -> None:
    """Carry out one step of another person."""
    act, text, *rest = step
    in_namespace = ("-n", namespace)
    if act == "client":
        plane.kubectl("apply", *in_namespace, "-f", "-", stdin=text)
    elif act == "server":
        manager = next(iter(rest), SERVER_SIDE_MANAGER)
        flags = ("--server-side", "--force-conflicts", f"--field-manager={manager}")
        plane.kubectl("apply", *in_namespace, *flags, "-f", "-", stdin=text)
    elif act == "replace":
        plane.kubectl("replace", *in_namespace, "-f", "-", stdin=text)
    elif act == "create":
        plane.kubectl("create", *in_namespace, "-f", "-", stdin=text)
    elif act == "patch":
        plane.kubectl("patch", *in_namespace, text, f"--type={rest[0]}", "-p", rest[1])
    elif act == "set-image":
        plane.kubectl("set", "image", *in_namespace, text, *rest)
    elif act == "scale":
        plane.kubectl("scale", *in_namespace, text, f"--replicas={rest[0]}")
    else:
        raise ValueError(f"unknown step {act}")


def _read(plane: Server, namespace: str, text: str) -> JSONObject | None:
    flags = ("-n", namespace, "-o", "json", "--show-managed-fields", "-f", "-")
    done = plane.kubectl("get", *flags, stdin=text, check=False)
    found: list[JSONObject] = json.loads(done.stdout).get("items", []) if done.stdout else []  # what is read is a list
    return next(iter(found), None)


def record(plane: Server, one: Input) -> JSONObject:
    """Return an input as the playground gets it, and what the real kubectl made of it."""
    namespace, manifest = f"play-{one['name']}", one["manifest"]
    plane.kubectl("create", "namespace", namespace)
    if one.get("crds"):
        with tempfile.TemporaryDirectory() as folder:
            definition = Path(folder, "crds.yaml")
            definition.write_text(one["crds"])
            plane.kubectl("apply", "--server-side", "-f", str(definition))
            wait_until_established(plane, str(definition))
    for step in one["before"]:
        _manage(plane, namespace, step)
    live = _read(plane, namespace, manifest)
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
    after = _read(plane, namespace, manifest)
    told = {"refusal": done.stderr} if done.returncode else {"after": after}
    plane.kubectl("delete", "namespace", namespace, "--wait=false")
    return {"name": one["name"], "given": given, **told}


def _place(manifest: str, namespace: str) -> str:
    """Return the manifest with the namespace that kubectl is told on its command line."""
    return manifest.replace("metadata: {", f"metadata: {{namespace: {namespace}, ", 1)


def main(folder: Path) -> None:
    """Record all inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    with ControlPlane(find_binaries()) as plane, gzip.open(folder / FILE, "wt", encoding="utf-8") as out:
        for one in list_inputs():
            out.write(json.dumps(record(plane, one), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
