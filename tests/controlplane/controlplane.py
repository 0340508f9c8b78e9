"""Start and stop a real etcd and kube-apiserver (and kube-controller-manager) on loopback, with free ports.

The server makes its own certificate, which the kubeconfig carries as the authority to trust; people are
tokens in a file. Everything lives in one temporary folder and dies with `stop`.
"""

from __future__ import annotations

import base64
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.controlplane.binaries import Binaries
from tests.ports import free_port

ADMIN_TOKEN = "admin-token"
START_SECONDS = 240
USERS = ("alice", "bob")


class Server(Protocol):
    """Anything that the real kubectl can be pointed at."""

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl against it."""


def run_kubectl(
    program: Path,
    kubeconfig: Path,
    *arguments: str,
    stdin: str | None = None,
    check: bool = True,
    has_applysets: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run kubectl with nothing of this machine's own configuration; an error of it fails the test."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)}
    environment |= {"KUBECTL_APPLYSET": "true"} if has_applysets else {}
    done = subprocess.run(
        [str(program), *arguments], input=stdin, env=environment, capture_output=True, text=True, timeout=240
    )
    if check and done.returncode != 0:
        raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
    return done


class ControlPlane:
    """One API server with its store; use it as a context manager."""

    def __init__(self, binaries: Binaries, *, has_manager: bool = False) -> None:
        self.binaries = binaries
        self.has_manager = has_manager and binaries.controller_manager is not None
        self.folder = Path(tempfile.mkdtemp(prefix="applyviz-controlplane-"))
        self._processes: list[tuple[str, subprocess.Popen[bytes], IO[bytes]]] = []
        self._port, self.etcd_port, self._peer_port = (free_port() for _ in range(3))

    def __enter__(self) -> Self:
        try:
            self._start_etcd()
            self._start_apiserver()
            self._wait_until_ready()
            if self.has_manager:
                self._start_manager()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def authority(self) -> bytes:
        """The certificate to trust, as PEM."""
        return (self.folder / "certs" / "apiserver.crt").read_bytes()

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file of the administrator."""
        path = self.folder / "kubeconfig"
        if not path.exists():
            path.write_text(self.render_kubeconfig())
            path.chmod(0o600)
        return path

    def render_kubeconfig(self, token: str = ADMIN_TOKEN) -> str:
        """A kubeconfig with inline data only."""
        authority = base64.b64encode(self.authority).decode()
        return (
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
            "clusters:\n- name: test\n  cluster:\n"
            f"    server: {self.url}\n    certificate-authority-data: {authority}\n"
            f"users:\n- name: test\n  user:\n    token: {token}\n"
            "contexts:\n- name: test\n  context:\n    cluster: test\n    user: test\n"
        )

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run the real kubectl against this server, as the administrator."""
        return run_kubectl(self.binaries.kubectl, self.kubeconfig, *arguments, stdin=stdin, check=check)

    def stop(self) -> None:
        """End every process that was started, and remove the folder.

        Nothing of it is kept, so nothing is asked to end in good order: an API server that is waits a minute for
        whoever watches something.
        """
        for _, process, _ in reversed(self._processes):
            process.kill()
        for _, process, log in self._processes:
            process.wait()
            log.close()
        self._processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, program: Path, *arguments: str) -> None:
        log = (self.folder / f"{program.name}.log").open("wb")
        process = subprocess.Popen([str(program), *arguments], stdout=log, stderr=subprocess.STDOUT)
        self._processes.append((program.name, process, log))

    def _start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        self._start(
            self.binaries.etcd,
            *("--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
        )

    def _start_apiserver(self) -> None:
        key, tokens = self.folder / "service-accounts.key", self.folder / "tokens.csv"
        key.write_bytes(_private_key())
        people = [f"{ADMIN_TOKEN},admin,admin,system:masters"]
        people += [f"{user}-token,{user},{user},system:authenticated" for user in USERS]
        tokens.write_text("\n".join(people) + "\n")
        self._start(
            self.binaries.apiserver,
            *("--etcd-servers", f"http://127.0.0.1:{self.etcd_port}"),
            *("--bind-address", "127.0.0.1", "--secure-port", str(self._port)),
            *("--cert-dir", str(self.folder / "certs"), "--token-auth-file", str(tokens)),
            *("--authorization-mode", "RBAC", "--disable-admission-plugins", "ServiceAccount"),
            *("--service-account-issuer", "https://localhost", "--service-account-key-file", str(key)),
            *("--service-account-signing-key-file", str(key), "--service-cluster-ip-range", "10.0.0.0/16"),
            "--allow-privileged",
        )

    def _start_manager(self) -> None:
        program = self.binaries.controller_manager
        assert program is not None
        self._start(
            program,
            *("--kubeconfig", str(self.kubeconfig), "--leader-elect=false", "--secure-port", "0"),
            *("--use-service-account-credentials=false",),
            *("--service-account-private-key-file", str(self.folder / "service-accounts.key")),
        )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for name, process, _ in self._processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with {process.returncode}: {self._last_lines(name)}")
            if self._is_ready():
                return
            time.sleep(0.2)
        raise RuntimeError(f"the API server was not ready in time: {self._last_lines('kube-apiserver')}")

    def _is_ready(self) -> bool:
        request = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
        try:
            context = ssl.create_default_context(cadata=self.authority.decode())
            with urllib.request.urlopen(request, timeout=2, context=context) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _last_lines(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-1500:]


def _private_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
