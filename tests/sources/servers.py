"""Web servers of the tests: loopback, TLS by a certificate authority made on the spot, answers as scripted."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Answer = Callable[[bytes, socket.socket], None]


def reply(status: int, body: bytes = b"", **headers: str) -> Answer:
    lines = [f"HTTP/1.1 {status} X", *(f"{name.replace('_', '-')}: {text}" for name, text in headers.items())]
    if "Content_Length" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
    return lambda _request, connection: connection.sendall(head + body)


@dataclass
class Server:
    """One listening server; `requests` holds what came in."""

    port: int
    scheme: str
    requests: list[bytes] = field(default_factory=list)

    def url(self, host: str = "localhost", path: str = "/m.yaml") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


def _serve(listener: socket.socket, server: Server, answers: dict[str, Answer], tls: ssl.SSLContext | None) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with suppress(OSError, ssl.SSLError), connection:
            connection.settimeout(5)
            wrapped = tls.wrap_socket(connection, server_side=True) if tls else connection
            request = wrapped.recv(65536)
            server.requests.append(request)
            path = request.split(b" ", 2)[1].decode("latin-1") if b" " in request else ""
            answers.get(path, reply(404))(request, wrapped)
            if tls:
                wrapped.close()


@contextmanager
def serving(answers: dict[str, Answer], tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Server]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen()
        server = Server(listener.getsockname()[1], "https" if tls else "http")
        threading.Thread(target=_serve, args=(listener, server, answers, tls), daemon=True).start()
        yield server


def _key_and_name(name: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Name]:
    return ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


@dataclass(frozen=True)
class Authority:
    """A certificate authority with its file."""

    key: ec.EllipticCurvePrivateKey
    name: x509.Name
    file: Path

    def context(self, *names: str, days: int = 36500) -> ssl.SSLContext:
        """A server context whose certificate is for these names, from 2020 on for so many days."""
        key, subject = _key_and_name(names[0])
        alternatives = x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address(n)) if n[0].isdigit() else x509.DNSName(n) for n in names]
        )
        signed = _builder(subject, self.name, key, days).add_extension(alternatives, critical=False)
        certificate = signed.sign(self.key, hashes.SHA256())
        pem = self.file.with_name(f"server-{names[0]}.pem")
        pem.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 36500
) -> x509.CertificateBuilder:
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=days))
    )


def make_authority(folder: Path) -> Authority:
    key, name = _key_and_name("test authority")
    constraint = x509.BasicConstraints(ca=True, path_length=None)
    certificate = _builder(name, name, key).add_extension(constraint, critical=True).sign(key, hashes.SHA256())
    file = folder / "authority.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(key, name, file)
