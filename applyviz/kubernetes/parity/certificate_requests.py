"""Read certificates and requests for them: PEM around DER, refused in the words of Go.

Rule: `encoding/pem`, `encoding/asn1` and `crypto/x509` of Go, as k8s.io/kubernetes `pkg/apis/certificates` calls them.
Of what is broken inside a request, only the first elements are named in Go's words.
"""

from __future__ import annotations

import base64
import binascii

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.oid import NameOID
from msgspec import Struct

_START, _END, _DASHES = b"-----BEGIN ", b"\n-----END ", b"-----"
_SPACE = b" \t\r\n"
_SEQUENCE = 16
_CURVES = ("secp224r1", "secp256r1", "secp384r1", "secp521r1")
_HASHES = ("sha1", "sha256", "sha384", "sha512")
_FAILURES: tuple[tuple[type[object], str], ...] = (
    (EllipticCurvePublicKey, "x509: ECDSA verification failure"),
    (Ed25519PublicKey, "x509: Ed25519 verification failure"),
    (RSAPublicKey, "crypto/rsa: verification error"),
)
_UNKNOWN = "x509: cannot verify signature: algorithm unimplemented"
_NO_REQUEST = "PEM block type must be CERTIFICATE REQUEST"
_NO_OPTIONS = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)


class PEMBlock(Struct, frozen=True):
    """One block of PEM."""

    type: str
    content: bytes
    has_headers: bool = False


def read_block(text: bytes, start: int = 0) -> tuple[PEMBlock | None, int]:
    """Return the first readable block behind a position, and the position behind it; None if there is none."""
    end = -1
    while (start := _find_start(text, start)) >= 0:
        start += len(_START)
        line, start = _read_line(text, start)
        if not line.endswith(_DASHES):
            continue
        name = line[: -len(_DASHES)]
        has_headers, start = _skip_headers(text, start)
        if end < start - 1:
            end = text.find(_END, start - 1 if not has_headers else start)
        if end < 0:
            return None, len(text)
        last, behind = _read_line(text, end + len(_END))
        # Before lines are copied: each begun block may reach to the one end of all.
        is_whole = last == name + _DASHES and text.find(b"-", start, end) < 0
        content = _decode(text[start:end]) if is_whole else None
        if content is not None:
            return PEMBlock(name.decode("utf-8", "replace"), content, has_headers), behind
    return None, len(text)


def _find_start(text: bytes, start: int) -> int:
    """Return where the next line begins that begins a block, -1 if none does."""
    while (found := text.find(_START, start)) >= 0:
        if found == start or text[found - 1] == ord("\n"):
            return found
        start = found + 1
    return -1


def _read_line(text: bytes, start: int) -> tuple[bytes, int]:
    end = text.find(b"\n", start)
    line, behind = (text[start:end], end + 1) if end >= 0 else (text[start:], len(text))
    return line.rstrip(_SPACE), behind


def _skip_headers(text: bytes, start: int) -> tuple[bool, int]:
    has_headers = False
    while start < len(text):
        line, behind = _read_line(text, start)
        if b":" not in line:
            break
        has_headers, start = True, behind
    return has_headers, start


def _decode(lines: bytes) -> bytes | None:
    try:
        return base64.b64decode(lines.translate(None, _SPACE), validate=True)
    except binascii.Error:
        return None


def find_request_problem(text: bytes) -> str:
    """Return why a text is no signed request for a certificate, empty text if it is one."""
    block, _ = read_block(text)
    if block is None or block.type != "CERTIFICATE REQUEST":
        return _NO_REQUEST
    if problem := _find_structure_problem(block.content):
        return problem
    try:
        return _find_signature_problem(x509.load_der_x509_csr(block.content))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return _UNKNOWN


def _find_signature_problem(request: x509.CertificateSigningRequest) -> str:
    key, hashing = request.public_key(), request.signature_hash_algorithm
    if isinstance(key, EllipticCurvePublicKey) and key.curve.name not in _CURVES:
        return "x509: unsupported elliptic curve"
    failure = next((words for kind, words in _FAILURES if isinstance(key, kind)), "")
    if not failure or (hashing is not None and hashing.name not in _HASHES):
        return _UNKNOWN
    return "" if request.is_signature_valid else failure


def list_organizations(text: bytes) -> tuple[str, ...]:
    """Return the organizations, which are groups, that a readable request names."""
    block, _ = read_block(text)
    subject = x509.load_der_x509_csr(block.content).subject if block is not None else x509.Name([])
    return tuple(str(one.value) for one in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))


def find_certificate_problem(text: bytes) -> str:
    """Return why a text is no chain of certificates, empty text if it is one, or is empty."""
    count, start = 0, 0
    while True:
        block, start = read_block(text, start)
        if block is None:
            break
        if block.type != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.type}"'
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        if not _are_certificates(block.content):
            return "x509: malformed certificate"
        count += 1
    return "" if count or not text else "must contain at least one CERTIFICATE PEM block"


def _are_certificates(content: bytes) -> bool:
    while content:
        length = _read_header(content)
        if length is None or length > len(content):
            return False
        try:
            x509.load_der_x509_certificate(content[:length])
        except ValueError:
            return False
        content = content[length:]
    return True


def _read_header(content: bytes) -> int | None:
    """Return the length of the first element of DER, with its header; None if its header cannot be read."""
    header = _measure(content)
    return sum(header) if header is not None else None


def _measure(content: bytes) -> tuple[int, int] | None:
    """Return the lengths of the header and of the content of the first element of DER."""
    if len(content) < 2:
        return None
    short = content[1]
    if short < 0x80:
        return 2, short
    count = short & 0x7F
    digits = content[2 : 2 + count]
    return (2 + count, int.from_bytes(digits)) if 0 < count < 5 and len(digits) == count and digits[0] else None


def _find_structure_problem(content: bytes) -> str:
    """Return why the content is not one sequence that begins with another one."""
    problem, size = _read_sequence(content, "certificateRequest")
    problem = problem or _read_sequence(content[size:], "tbsCertificateRequest")[0]
    if problem:
        return f"asn1: {problem}"
    return "asn1: syntax error: trailing data" if (_read_header(content) or 0) < len(content) else ""


def _read_sequence(content: bytes, name: str) -> tuple[str, int]:
    """Return why the content does not begin with a sequence, empty text if it does, and the length of its header."""
    if not content:
        return "syntax error: sequence truncated", 0
    if content[1:2] == b"\x80":
        return "syntax error: indefinite length found (not DER)", 0
    header = _measure(content)
    if header is None:
        return "syntax error: truncated tag or length", 0
    size, length = header
    tag, kind, is_compound = content[0] & 0x1F, content[0] >> 6, bool(content[0] & 0x20)
    if (tag, kind, is_compound) != (_SEQUENCE, 0, True):
        found = f"{{class:{kind} tag:{tag} length:{length} isCompound:{str(is_compound).lower()}}}"
        return f"structure error: tags don't match ({_SEQUENCE} vs {found}) {_NO_OPTIONS} {name} @{size}", size
    return "syntax error: data truncated" if size + length > len(content) else "", size
