"""Keys of ssh: a new deploy key, the public half of one that a person brings, and pinned host keys with fingerprints.

A host key is accepted only if it was registered before: there is no trust on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from applyviz.engine.objects.errors import SourceError

if TYPE_CHECKING:
    import asyncssh

_MOST, _MOST_TEXT = 20, 16_384
_COMMENT = "applyviz"


def make_key() -> tuple[str, str]:
    """Return a new Ed25519 key: the private half, and the line that a git host registers as a deploy key."""
    import asyncssh  # noqa: PLC0415  # slow import

    key = asyncssh.generate_private_key("ssh-ed25519", comment=_COMMENT)
    return key.export_private_key("openssh").decode(), _write_public(key)


def _write_public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode().strip()


def read_key(text: str) -> str:
    """Return the public half of a private key; raises `SourceError` for what is none, without repeating it."""
    import asyncssh  # noqa: PLC0415  # slow import

    try:
        return _write_public(asyncssh.import_private_key(text.strip() + "\n"))
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        raise SourceError(_describe_unread(str(error))) from None


def _describe_unread(reason: str) -> str:
    if "passphrase" in reason.lower():
        return "the private key has a passphrase: register a key without one, or let applyviz make it"
    return "this is not a private key of OpenSSH, or it is damaged"


def _read_line(line: str) -> str:
    """Return type and content of one host key: a line of known_hosts, or of a public key file."""
    import asyncssh  # noqa: PLC0415  # slow import

    words = line.split()
    start = next((n for n, word in enumerate(words) if word.startswith(("ssh-", "ecdsa-", "sk-"))), None)
    if start is None or words[0].startswith("@"):
        raise SourceError(f"this is not a host key: {line[:60]}")
    try:
        key = asyncssh.import_public_key(" ".join(words[start : start + 2]))
    except (asyncssh.KeyImportError, ValueError):
        raise SourceError(f"this is not a host key, or it is damaged: {line[:60]}") from None
    return " ".join(key.export_public_key("openssh").decode().split()[:2])


def read_host_keys(text: str) -> tuple[str, ...]:
    """Return the host keys of some lines, as `ssh-keyscan` or a git host prints them; raises `SourceError`."""
    if len(text) > _MOST_TEXT:
        raise SourceError("the host keys are too long")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise SourceError("enter at least one host key")
    if len(lines) > _MOST:
        raise SourceError(f"more than {_MOST} host keys")
    return tuple(dict.fromkeys(map(_read_line, lines)))


def fingerprint(public_key: str) -> str:
    """Return the SHA-256 fingerprint of a public key, as `ssh-keygen -l` prints it."""
    import asyncssh  # noqa: PLC0415  # slow import

    return str(asyncssh.import_public_key(public_key).get_fingerprint())
