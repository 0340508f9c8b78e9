"""Tells stories with the real kubectl behind a recording proxy, and writes them down as conformance data.

    python -m tests.controlplane.record tests/controlplane/scenarios --out FOLDER [--only NAME]
    python manage.py conformance FOLDER --show 3

A scenario is a map of a YAML list: `name`, `title`, `about`, `files` (name → text), `env`, and `steps`: shell commands,
or maps of `run`, `write` (files that change before it) and `gone` (files that go). `$NS` is its namespace. A file may
be a map of `text` and `encoding`, and of `mark` for bytes before it (hex); bytes that are not UTF-8 stand in a story as
Python escapes them (surrogates).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.binaries import KUBERNETES_VERSION, find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.proxying import ANNOUNCE, JSONObject, Recorder
from tests.yaml_files import read_yaml

_STEP_SECONDS = 600
# Stands before the real kubectl in PATH: tells its arguments, what it is fed, and the files of that moment.
_STAND_IN = """#!{python}
import json, os, pathlib, subprocess, sys, urllib.request
argv, root = sys.argv[1:], pathlib.Path({root!r})
fed = sys.stdin.buffer.read() if any(a in ("-", "-f-", "-Rf-", "--filename=-") for a in argv) else None
files = {{}}
for path in sorted(root.rglob("*")):
    if path.is_file():
        files[str(path.relative_to(root))] = path.read_bytes().decode("utf-8", "surrogateescape")
told = {{"argv": argv, "files": files}}
if pathlib.Path.cwd() != root:
    told["cwd"] = str(pathlib.Path.cwd().relative_to(root))
if fed is not None:
    told["stdin"] = fed.decode("utf-8", "surrogateescape")
rendered = {{}}
for flag, value in zip(argv, argv[1:] + [""]):
    flag, _, own = flag.partition("=")
    value = own or value
    if flag in ("-k", "--kustomize"):
        rendered[value] = subprocess.run([{kubectl!r}, "kustomize", value], capture_output=True, text=True).stdout
    elif flag in ("-f", "--filename") and value.startswith("http"):
        try:
            rendered[value] = urllib.request.urlopen(value).read().decode()
        except OSError:
            pass
if rendered:
    told["rendered"] = rendered
urllib.request.urlopen(urllib.request.Request({announce!r}, json.dumps(told).encode(), method="POST")).read()
sys.exit(subprocess.run([{kubectl!r}, *argv], input=fed).returncode)
"""


def read_scenarios(paths: list[Path]) -> Iterator[JSONObject]:
    """All scenarios of the files, or of the YAML files of folders."""
    for path in paths:
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            yield from read_yaml(file)


def _encode(file: str | Mapping[str, str]) -> bytes:
    if isinstance(file, str):
        return file.encode()
    return bytes.fromhex(file.get("mark", "")) + file["text"].encode(file["encoding"])


class Stage:
    """Where one story is told: a folder, a kubeconfig, and the program that stands in for kubectl."""

    def __init__(self, folder: Path, scenario: JSONObject, recorder: Recorder, kubectl: Path) -> None:
        self.namespace = str(scenario.get("namespace", scenario["name"]))
        self.work = folder / "work"
        self.work.mkdir()
        programs = folder / "programs"
        programs.mkdir()
        stand_in = programs / "kubectl"
        announce = recorder.url + ANNOUNCE
        stand_in.write_text(
            _STAND_IN.format(python=sys.executable, root=str(self.work), kubectl=str(kubectl), announce=announce)
        )
        stand_in.chmod(0o755)
        config = folder / "kubeconfig"
        config.write_text(render_config(recorder.url, self.namespace))
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "KUBECONFIG": str(config),
            "NS": self.namespace,
            "LC_ALL": "C",
            **scenario.get("env", {}),
        }

    def write(self, files: Mapping[str, str | Mapping[str, str]]) -> None:
        for name, text in files.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_bytes(_encode(text))

    def run(self, command: str) -> JSONObject:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_STEP_SECONDS,
        )
        return {"exit": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def render_config(server: str, namespace: str) -> str:
    """A kubeconfig for a server without sign-in: the recording proxy."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        "current-context": "x",
    }
    return yaml.safe_dump(config)


def _tell_changes(invocations: list[JSONObject], known: dict[str, str]) -> dict[str, str]:
    """Put into each invocation which files differ from before; gives the files of the last one."""
    for invocation in invocations:
        now = invocation.pop("files")
        names = sorted({*now, *known})
        invocation["changed"] = {n: now.get(n) for n in names if now.get(n) != known.get(n)}
        known = now
    return known


def tell(scenario: JSONObject, recorder: Recorder, kubectl: Path) -> JSONObject:
    """Run one scenario in a namespace of its own; the story."""
    with tempfile.TemporaryDirectory(prefix="applyviz-story-") as folder:
        stage = Stage(Path(folder), scenario, recorder, kubectl)
        stage.run(f"kubectl create namespace {stage.namespace}")
        recorder.take()
        known = dict(scenario.get("files", {}))
        stage.write(known)
        steps = []
        for each in scenario["steps"]:
            step: JSONObject = {"run": each} if isinstance(each, str) else dict(each)
            stage.write(step.get("write", {}))
            known |= step.get("write", {})
            for name in step.pop("gone", ()):
                (stage.work / name).unlink()
            done = stage.run(step["run"])
            invocations, exchanges = recorder.take()
            known = _tell_changes(invocations, known)
            steps.append({**step, **done, "invocations": invocations, "requests": exchanges})
    told = {key: scenario.get(key, "") for key in ("name", "title", "about")}
    versions = {"server": f"v{KUBERNETES_VERSION}", "client": f"kubectl v{KUBERNETES_VERSION}"}
    given = {"namespace": stage.namespace, "env": scenario.get("env", {}), "files": scenario.get("files", {})}
    return {**told, **versions, **given, "steps": steps}


def write_story(story: JSONObject, out: Path) -> None:
    """Write a story as the corpora hold them; the same story gives the same bytes."""
    text = json.dumps(story, sort_keys=True, separators=(",", ":"))
    (out / f"{story['name']}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", type=Path, nargs="+", help="YAML files, or folders of them")
    parser.add_argument("--out", type=Path, required=True, help="folder for the stories")
    parser.add_argument("--only", action="append", default=[], help="only scenarios of these names (repeatable)")
    options: Any = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    binaries = find_binaries()
    with ControlPlane(binaries) as plane, Recorder(plane) as recorder:
        for scenario in read_scenarios(options.scenarios):
            if options.only and scenario["name"] not in options.only:
                continue
            story = tell(scenario, recorder, binaries.kubectl)
            write_story(story, options.out)
            failed = sum(bool(step["exit"]) for step in story["steps"])
            sys.stdout.write(f"{story['name']}: {len(story['steps'])} steps, {failed} of them refused\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
