"""The real kubectl talks to a sandbox cluster over plain HTTP."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from applyviz.sandbox.http import HttpFace
from applyviz.sandbox.server import Sandbox
from applyviz.sandbox.store import MemoryStore
from tests.controlplane.controlplane import run_kubectl

pytestmark = pytest.mark.controlplane
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
