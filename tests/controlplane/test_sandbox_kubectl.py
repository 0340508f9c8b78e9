"""The real kubectl talks to a sandbox cluster over plain HTTP, and watches one of a running installation."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from applyviz.sandbox.api.http import HttpFace
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.controlplane.controlplane import run_kubectl

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "shop/web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


def _now() -> datetime:
    return datetime.now(UTC)


def make_handler(face: HttpFace) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            response = face.handle(self.command, path, query, dict(self.headers), body)
            self.send_response(response.status)
            for name, value in (*response.headers, ("Content-Length", str(len(response.body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - names of the standard library

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


@pytest.fixture
def kubectl(binaries, tmp_path: Path) -> Iterator:
    face = HttpFace(Sandbox(MemoryStore(), _now), {"token-of-alice": "alice"}.get, _now)
    server = ThreadingHTTPServer(("127.0.0.1", 0), make_handler(face))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        f"clusters: [{{name: c, cluster: {{server: 'http://x:token-of-alice@127.0.0.1:{server.server_port}'}}}}]\n"
        "contexts: [{name: x, context: {cluster: c}}]\n"
    )
    yield (
        lambda *arguments, stdin=None: (
            run_kubectl(binaries.kubectl, config, *arguments, f"--cache-dir={tmp_path}", stdin=stdin).stdout
        )
    )
    server.shutdown()
    server.server_close()


def test_kubectl_applies_changes_and_deletes(kubectl):
    assert kubectl("apply", "-f", "-", stdin=WEB) == "deployment.apps/web created\nservice/web created\n"
    assert kubectl("apply", "-f", "-", stdin=WEB) == "deployment.apps/web unchanged\nservice/web unchanged\n"
    assert kubectl("apply", "--server-side", "-f", "-", stdin=WEB).count("serverside-applied") == 2
    assert kubectl("diff", "-f", "-", stdin=WEB) == ""
    assert kubectl("scale", "deploy/web", "--replicas=5") == "deployment.apps/web scaled\n"
    assert kubectl("set", "image", "deploy/web", "web=shop/web:2") == "deployment.apps/web image updated\n"
    assert kubectl("patch", "deploy/web", "-p", '{"spec":{"paused":true}}') == "deployment.apps/web patched\n"
    assert kubectl("label", "svc/web", "a=b") == "service/web labeled\n"
    assert kubectl("get", "deploy/web", "-o", "jsonpath={.spec.replicas} {..image}") == "5 shop/web:2"
    assert kubectl("get", "deploy", "--no-headers").split()[:4] == ["web", "0/5", "0", "0"]
    assert "deleted" in kubectl("delete", "-f", "-", stdin=WEB)
    assert kubectl("get", "deploy,svc", "-o", "name") == "service/kubernetes\n"


def test_kubectl_learns_what_there_is(kubectl):
    assert "deployments" in kubectl("api-resources", "-o", "name").replace(".apps", "").split()
    assert "rollingUpdate" in kubectl("explain", "deployment.spec.strategy")
    assert "Active" in kubectl("get", "namespaces")


ROOT = Path(__file__).parents[2]
MAKE_SANDBOX = """
from applyviz.workflow.clusters import registration as clusters
from applyviz.workflow.clusters import sandboxes
made = clusters.create_sandbox(slug="box", name="Box")
print(made.credential.open_bytes().decode())
"""
# A process of its own over the same database: what it writes, the web process has to find by itself.
WRITE_ELSEWHERE = """
from applyviz.clusters.sandbox import open_sandbox
from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, Request
from applyviz.workflow.clusters.sandboxes import find_sandbox
box, maps = open_sandbox(find_sandbox("box")), "/api/v1/namespaces/default/configmaps"
labels = {"metadata": {"labels": {"turn": "two"}}}
for request in (
    Request("POST", maps, {}, JSON, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}),
    Request("PATCH", maps + "/other", {}, MERGE_PATCH, labels),
    Request("DELETE", maps + "/other"),
):
    assert box.handle(request).is_ok
"""


class Installation:
    """`manage.py serve` with a sandbox, and the real kubectl that is pointed at it."""

    def __init__(self, kubectl: Path, home: Path) -> None:
        self.program, self.home = kubectl, home
        self.environment = {**os.environ, "APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings"}
        serve = [sys.executable, "manage.py", "serve", "--port", "0", "--no-demo"]
        self.process = subprocess.Popen(
            serve, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        address = self._read_address()
        token = self.run_python(MAKE_SANDBOX).strip().splitlines()[-1]
        self.config = home / "kubeconfig"
        self.config.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
            f"clusters: [{{name: c, cluster: {{server: 'http://x:{token}@{address}/sandboxes/box'}}}}]\n"
            "contexts: [{name: x, context: {cluster: c, namespace: default}}]\n"
        )

    def _read_address(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"is ready: http://([^/]+)/", line):
                return found[1]
        raise AssertionError(f"serve ended with {self.process.wait()}")

    def run_python(self, text: str) -> str:
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", text]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True):
        return run_kubectl(
            self.program, self.config, *arguments, f"--cache-dir={self.home}", stdin=stdin, check=check
        ).stdout

    def start_kubectl(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.config)}
        command = [str(self.program), *arguments, f"--cache-dir={self.home}"]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture(scope="module")
def installation(binaries, tmp_path_factory) -> Iterator[Installation]:
    running = Installation(binaries.kubectl, tmp_path_factory.mktemp("home"))
    yield running
    if running.process.poll() is None:
        running.stop()


def read_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """So many lines; the process is killed when they take too long."""
    killer = threading.Timer(60, process.kill)
    killer.start()
    try:
        return [process.stdout.readline().rstrip("\n") for _ in range(count)]
    finally:
        killer.cancel()


def end(process: subprocess.Popen[str]) -> str:
    process.terminate()
    return process.communicate(timeout=30)[0]


def test_kubectl_watches_what_other_processes_write(installation):
    installation.kubectl("create", "configmap", "mine", "--from-literal=a=1")
    watching = installation.start_kubectl("get", "configmaps", "-w", "--output-watch-events")
    shown = read_lines(watching, 2)
    installation.run_python(WRITE_ELSEWHERE)
    installation.kubectl("label", "configmap", "mine", "turn=two")
    installation.kubectl("delete", "configmap", "mine")
    shown += read_lines(watching, 5)
    end(watching)

    assert shown[0].split() == ["EVENT", "NAME", "DATA", "AGE"]
    assert [line.split()[:3] for line in shown[1:]] == [
        ["ADDED", "mine", "1"],
        ["ADDED", "other", "0"],
        ["MODIFIED", "other", "0"],
        ["DELETED", "other", "0"],
        ["MODIFIED", "mine", "1"],
        ["DELETED", "mine", "1"],
    ]


@pytest.mark.long
def test_kubectl_watches_objects_by_selector(installation):
    watching = installation.start_kubectl("get", "secrets", "-l", "tier=web", "-w", "-o", "jsonpath={.metadata.name} ")
    time.sleep(2)
    for name, tier in (("a", "db"), ("b", "web")):
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": {"tier": tier}}}
        installation.kubectl("create", "-f", "-", stdin=json.dumps(body))
    time.sleep(2)

    assert end(watching) == "b "


def test_kubectl_waits_for_conditions_fields_and_the_end(installation):
    installation.kubectl("apply", "-f", "-", stdin=WEB)
    for_replicas = installation.start_kubectl(
        "wait", "deploy/web", "--for=jsonpath={.spec.replicas}=7", "--timeout=60s"
    )
    for_end = installation.start_kubectl("wait", "service/web", "--for=delete", "--timeout=60s")
    for_making = installation.start_kubectl("wait", "configmap/late", "--for=create", "--timeout=60s")
    time.sleep(2)
    assert [p.poll() for p in (for_replicas, for_end, for_making)] == [None, None, None]

    installation.kubectl("scale", "deploy/web", "--replicas=7")
    installation.kubectl("delete", "service/web")
    installation.kubectl("create", "configmap", "late")

    for process, said in (
        (for_replicas, "deployment.apps/web condition met\n"),
        (for_end, ""),
        (for_making, "configmap/late condition met\n"),
    ):
        shown, problems = process.communicate(timeout=60)
        assert (process.returncode, problems) == (0, "")
        assert shown == said or not said


@pytest.mark.long
def test_kubectl_wait_ends_by_its_own_timeout(installation):
    installation.kubectl("create", "configmap", "never")

    done = installation.start_kubectl("wait", "configmap/never", "--for=jsonpath={.data.a}=1", "--timeout=2s")

    assert "timed out waiting for the condition" in done.communicate(timeout=60)[1]
    assert done.returncode == 1


@pytest.mark.long
def test_installation_stops_although_somebody_watches(installation):
    watching = installation.start_kubectl("get", "configmaps", "-w")
    time.sleep(1)
    began = time.monotonic()

    assert installation.stop() == 0
    assert time.monotonic() - began < 20
    end(watching)
