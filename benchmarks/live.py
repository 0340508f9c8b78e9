"""The product end to end against kubectl on a real API server: click to done, processor time, memory.

    .venv/bin/python -m benchmarks.live [--objects 300] [--mode client|server] [--installation personal|team]

`--rounds N` repeats, `--json FILE` also writes the figures.

A real API server is started (`tests/controlplane`), the product beside it as `scripts/run` starts it (personal) or with
the commands of `docker-compose.yml` (team), and people use it as they do: a review through the API, its stream, an
approval in the browser, the stream of the run. In each round kubectl and the product change the image of the same
Deployments, each in its own namespace, one after the other; afterwards both namespaces must be equal. Processor time is
that of all processes of one side, without the API server. Other work on the machine lengthens seconds, and processor
time a little: compare what one run of this script prints.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import yaml

from benchmarks.ownership import make_deployment
from benchmarks.processes import read_cpu, read_peaks
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.ports import free_port
from tests.services.browsing import Browser
from tests.services.servers import run_postgres, run_redis, wait_for_port
from tests.services.team import ROOT, Team

OURS, THEIRS = "by-product", "by-kubectl"
PASSWORD = "a long password of {}"
PATIENCE = 1800.0
SET_UP = """
import os
from pathlib import Path
from django.contrib.auth.models import User
from applyviz.records.enums import Role, TokenScope
from applyviz.workflow.clusters import registration
from applyviz.workflow.people import tokens
from tests.builders import grant_role
people = {}
for name, role in (("alice", Role.AUTHOR), ("bob", Role.APPROVER)):
    people[name] = User.objects.create_user(name, password="a long password of " + name)
    grant_role(people[name], role)
root = User.objects.create_superuser("root")
config = Path(os.environ["KUBECONFIG_OF_CLUSTER"]).read_bytes()
registration.prepare_upload(slug="real", name="Real", kubeconfig=config, context="test", by=root)()
alice = people["alice"]
print(tokens.make_token(by=alice, account=alice, name="live", scope=TokenScope.APPLY, days=7)[1])
"""


READ_RISKS = """
from django.contrib.auth.models import User
from applyviz.records.models import Plan
from tests.builders import acknowledge_all, open_dangers
plan, bob = Plan.objects.get(review__number={}), User.objects.get(username="bob")
acknowledge_all(plan, bob)
open_dangers(plan, bob)
"""


@dataclass
class Side:
    """The cost of one side: seconds, and the CPU time of all its processes in milliseconds per object."""

    seconds: float = 0.0
    cpu: float = 0.0


@dataclass
class Round:
    """One round: kubectl and the product, planning and applying."""

    diff: Side = field(default_factory=Side)
    plan: Side = field(default_factory=Side)
    apply: Side = field(default_factory=Side)
    run: Side = field(default_factory=Side)
    posted: float = 0.0
    first_planned: float = 0.0
    first_applied: float = 0.0
    is_equal: bool = False


@dataclass
class Result:
    """All rounds of one installation, and the peak memory of each of its processes in MB."""

    installation: str
    mode: str
    objects: int
    load: float
    rounds: list[Round] = field(default_factory=list)
    peaks: dict[str, float] = field(default_factory=dict)
    stop_seconds: float = 0.0


class Installation(Protocol):
    """A started product: its port, a token, and its processes."""

    name: str
    port: int
    token: str

    def list_processes(self) -> dict[str, int]:
        """Return the processes that are asked about, by what they do."""
        ...

    def python(self, code: str) -> str:
        """Run a script inside the installation, in a separate process that is not measured."""
        ...

    def stop(self) -> float:
        """End the web process and return how long that took."""
        ...


class Personal:
    """The product as `scripts/run` starts it."""

    name = "personal"

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self._environment = {**kept, "APPLYVIZ_HOME": str(folder), "PYTHONPATH": str(ROOT)}
        self._log = folder / "serve.log"
        self._manage("migrate", "--verbosity", "0")
        self.token, self.port = self.python(SET_UP, KUBECONFIG_OF_CLUSTER=str(kubeconfig)), free_port()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(ROOT / "scripts" / "run"), "--port", str(self.port), "--no-demo"],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for_port(self.port, self._process, "serve")

    def python(self, code: str, **environment: str) -> str:
        """Run a script inside the installation, in a separate process that is not measured."""
        done = subprocess.run(
            [sys.executable, "-c", f"import django; django.setup()\n{code}"],
            env={**self._environment, "DJANGO_SETTINGS_MODULE": "applyviz.settings", **environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def _manage(self, *words: str) -> None:
        command = [sys.executable, "manage.py", *words]
        subprocess.run(command, env=self._environment, cwd=ROOT, check=True, capture_output=True)

    def list_processes(self) -> dict[str, int]:
        """Return the only process."""
        return {"serve": self._process.pid}

    def stop(self) -> float:
        """End it as Ctrl-C does; return how long that took."""
        began = time.monotonic()
        self._process.terminate()
        self._process.wait(60)
        return time.monotonic() - began


class Compose:
    """The product with the commands of `docker-compose.yml`."""

    name = "team"

    def __init__(self, team: Team, kubeconfig: Path) -> None:
        self._team, self.port = team, team.port
        self.token = team.python(SET_UP, KUBECONFIG_OF_CLUSTER=str(kubeconfig))

    def python(self, code: str) -> str:
        """Run a script with the keys of a worker, in a separate process that is not measured."""
        return self._team.python(code)

    def list_processes(self) -> dict[str, int]:
        """Return web, worker and beat."""
        return {name: self._team.pid(name) for name in ("web", "worker", "beat")}

    def stop(self) -> float:
        """End the worker; the rest ends with the team. Return how long that took."""
        began = time.monotonic()
        self._team.stop("worker")
        return time.monotonic() - began


@contextmanager
def open_installation(name: str, kubeconfig: Path) -> Iterator[Installation]:
    """Start the product, and end it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="applyviz-live-")))
        if name == "personal":
            personal = Personal(folder, kubeconfig)
            stack.callback(personal.stop)
            yield personal
            return
        database, broker = stack.enter_context(run_postgres()), stack.enter_context(run_redis())
        yield Compose(stack.enter_context(Team(folder, database=database, broker=broker)), kubeconfig)


def make_files(count: int, version: str) -> dict[str, str]:
    """Return so many Deployments of about 4 kB; their image differs between versions."""
    files = {}
    for number in range(count):
        name = f"part-{number:05d}"
        obj: Any = make_deployment(1)
        obj["metadata"] = {"name": name, "labels": {"app": name}}
        obj["spec"]["replicas"] = 0
        obj["spec"]["selector"] = {"matchLabels": {"app": name}}
        obj["spec"]["template"]["metadata"]["labels"] = {"app": name}
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = f"registry.example/part:{version}"
        files[f"{name}.yaml"] = yaml.safe_dump(obj, sort_keys=False)
    return files


class Kubectl:
    """The real kubectl on the same files."""

    def __init__(self, plane: ControlPlane, mode: str) -> None:
        self._plane = plane
        self._flags = ["--server-side", "--force-conflicts"] if mode == "server" else []

    def run(self, verb: str, files: dict[str, str], namespace: str) -> Side:
        """Run `kubectl apply` or `kubectl diff` on a folder."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                Path(folder, name).write_text(text)
            words = [verb, "-n", namespace, "--field-manager=applyviz", *self._flags, "-f", folder]
            home = str(self._plane.folder)
            environment = {"PATH": os.environ["PATH"], "HOME": home, "KUBECONFIG": str(self._plane.kubeconfig)}
            before, began = os.times(), time.monotonic()
            done = subprocess.run(
                [str(self._plane.binaries.kubectl), *words], env=environment, capture_output=True, text=True
            )
            seconds, after = time.monotonic() - began, os.times()
        if done.returncode not in ((0, 1) if verb == "diff" else (0,)):
            raise RuntimeError(done.stderr[-2000:])
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return Side(seconds, used * 1000 / len(files))


class People:
    """Alice, who brings manifests through the API, and Bob, who approves in the browser."""

    def __init__(self, installation: Installation, mode: str) -> None:
        self._port, self._token, self._mode = installation.port, installation.token, mode
        self._bob = Browser(installation.port)
        self._bob.sign_in("bob", PASSWORD.format("bob"))

    def open_review(self, files: dict[str, str]) -> int:
        """Open a review of these files; return its number."""
        body = {
            "title": "Measure",
            "cluster": "real",
            "namespace": OURS,
            "mode": self._mode,
            "field_manager": "applyviz",
            "files": [{"name": name, "content": text} for name, text in files.items()],
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/api/v1/reviews/",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            number: int = json.load(answer)["review"]["number"]
        return number

    def follow(self, path: str, began: float) -> tuple[float, float]:
        """Follow a stream to its end; return the seconds until its first and its last event."""
        place, first = "", 0.0
        while time.monotonic() - began < PATIENCE:
            stream = self._bob.open_stream(f"{path}?after={place}")
            with stream:
                for line in stream:
                    word, _, value = line.decode().rstrip().partition(": ")
                    if word == "id":
                        place = quote(value)
                    elif word == "event" and value == "done":
                        ended = time.monotonic() - began
                        return first or ended, ended
                    elif word == "event":
                        first = first or time.monotonic() - began
        raise RuntimeError(f"{path} did not end")

    def approve(self, review: int) -> int:
        """Approve and apply plan 1 of a review; return the number of the run."""
        path = f"/reviews/{review}/plans/1/confirm/"
        self._bob.get(path)
        self._bob.post(path, digest=self._bob.find(r'name="digest" value="(\w+)"'), then="apply")
        return int(self._bob.find(r"/runs/(\d+)/"))


def read_state(plane: ControlPlane, namespace: str) -> list[Any]:
    """Return names and specs of the Deployments of a namespace."""
    told = json.loads(plane.kubectl("get", "deployments", "-n", namespace, "-o", "json").stdout)
    return sorted(([item["metadata"]["name"], item["spec"]] for item in told["items"]), key=lambda pair: str(pair[0]))


def play_round(
    plane: ControlPlane, installation: Installation, kubectl: Kubectl, people: People, files: dict[str, str]
) -> Round:
    """Plan and apply the same files on both sides."""
    pids, found, count = list(installation.list_processes().values()), Round(), len(files)
    found.diff = kubectl.run("diff", files, THEIRS)
    used, began = read_cpu(pids), time.monotonic()
    review = people.open_review(files)
    found.posted = time.monotonic() - began
    found.first_planned, ended = people.follow(f"/reviews/{review}/plans/1/events/", began)
    found.plan = Side(ended, (read_cpu(pids) - used) * 1000 / count)
    found.apply = kubectl.run("apply", files, THEIRS)
    installation.python(READ_RISKS.format(review))
    used, began = read_cpu(pids), time.monotonic()
    run = people.approve(review)
    found.first_applied, ended = people.follow(f"/runs/{run}/events/", began)
    found.run = Side(ended, (read_cpu(pids) - used) * 1000 / count)
    found.is_equal = read_state(plane, OURS) == read_state(plane, THEIRS)
    return found


def measure(plane: ControlPlane, *, name: str, mode: str, objects: int, rounds: int) -> Result:
    """Start an installation and play the rounds."""
    kubectl = Kubectl(plane, mode)
    for namespace in (OURS, THEIRS):
        plane.kubectl("delete", "deployments", "--all", "-n", namespace, check=False)
        plane.kubectl("create", "namespace", namespace, check=False)
        kubectl.run("apply", make_files(objects, "first"), namespace)
    result = Result(name, mode, objects, os.getloadavg()[0])
    with open_installation(name, plane.kubeconfig) as installation:
        people = People(installation, mode)
        for number in range(rounds):
            files = make_files(objects, f"round-{number}")
            result.rounds.append(play_round(plane, installation, kubectl, people, files))
        result.peaks = read_peaks(installation.list_processes())
        result.stop_seconds = installation.stop()
    return result


def show(result: Result) -> None:
    """Print one result."""
    load = f"load {result.load:.1f} at the start"
    print(f"\n{result.installation}, {result.mode}-side, {result.objects} Deployments; {load}")
    print("step  kubectl s    ours s  ratio  kubectl ms  ours ms  (ms: processor time per object)")
    for one in result.rounds:
        for step, theirs, ours in (("plan", one.diff, one.plan), ("run", one.apply, one.run)):
            seconds = f"{theirs.seconds:9.1f} {ours.seconds:9.1f} {ours.seconds / theirs.seconds:6.2f}"
            print(f"{step:<5} {seconds} {theirs.cpu:11.0f} {ours.cpu:8.0f}")
        print(
            f"  answer after {one.posted:.2f} s, first planned object {one.first_planned:.2f} s, "
            f"first applied {one.first_applied:.2f} s, equal: {'yes' if one.is_equal else 'NO'}"
        )
    print("peak memory, MB: " + ", ".join(f"{name} {peak:.0f}" for name, peak in result.peaks.items()))
    print(f"ended {result.stop_seconds:.1f} s after SIGTERM")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--mode", choices=["client", "server", "both"], default="both")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--installation", choices=["personal", "team", "both"], default="both")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    asked = parser.parse_args()
    modes = ["client", "server"] if asked.mode == "both" else [asked.mode]
    names = ["personal", "team"] if asked.installation == "both" else [asked.installation]
    found = []
    with ControlPlane(find_binaries()) as plane:
        for name in names:
            for mode in modes:
                found.append(measure(plane, name=name, mode=mode, objects=asked.objects, rounds=asked.rounds))
                show(found[-1])
    if asked.json:
        asked.json.write_text(json.dumps([asdict(result) for result in found], indent=1))
    return 0 if all(one.is_equal for result in found for one in result.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
