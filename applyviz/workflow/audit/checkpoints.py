"""Checkpoints: the end of the audit trail, signed and published out of reach of this installation.

An attacker who can rewrite the whole database can compute chains that fit, but cannot sign a checkpoint and cannot
withdraw one that was published in a file, to webhooks or by the command line. The signing key is derived from the
digest key, which only workers hold. Rule: Ed25519, https://www.rfc-editor.org/rfc/rfc8032, over three lines of text.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.keyed_hashes import is_same
from applyviz.records.models import AuditEntry, Webhook
from applyviz.workflow.audit import anchors, approval_macs, chain, trail
from applyviz.workflow.audit.chain import Checkpoint
from applyviz.workflow.audit.chain_verifier import BadEntry
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.foundation import digests
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotValidError

_log = logging.getLogger(__name__)
_PURPOSE = b"applyviz signs heads of its history"
_TITLE = "applyviz head of the history"
_MOST_NAMED = 50


class SignedCheckpoint(Struct, frozen=True):
    """A checkpoint with the time of its signature; key and signature are hexadecimal."""

    head: Checkpoint
    at: datetime
    key: str
    signature: str

    def __str__(self) -> str:
        return canonical_json(
            {"head": str(self.head), "at": self.at.isoformat(), "key": self.key, "signature": self.signature}
        )

    @classmethod
    def parse(cls, line: str) -> Self:
        """Parse one published line; raises `NotValidError` for another form, not for a wrong signature."""
        try:
            text = json.loads(line)
            return cls(
                Checkpoint.parse(str(text["head"])),
                datetime.fromisoformat(text["at"]),
                str(text["key"]),
                str(text["signature"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise NotValidError(_("not a published checkpoint: %(line)r") % {"line": line[:80]}) from error

    @property
    def is_ours(self) -> bool:
        """Return whether the key of this installation signed it."""
        try:
            public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key()))
            public.verify(bytes.fromhex(self.signature), _message(self.head, self.at))
        except (InvalidSignature, ValueError):
            return False
        return is_same(public_key(), self.key)


def _message(head: Checkpoint, at: datetime) -> bytes:
    return f"{_TITLE}\n{head}\n{at.isoformat()}\n".encode()


def _private_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hmac.digest(digests.digest_key(), _PURPOSE, "sha256"))


def public_key() -> str:
    """Return the hexadecimal key that verifies published checkpoints.

    - A web process cannot derive it and reads `APPLYVIZ_CHECKPOINT_PUBLIC_KEY`.
    """
    if not settings.APPLYVIZ_DIGEST_KEY:
        return str(settings.APPLYVIZ_CHECKPOINT_PUBLIC_KEY)
    return _private_key().public_key().public_bytes_raw().hex()


def sign(head: Checkpoint, at: datetime) -> SignedCheckpoint:
    """Sign a checkpoint."""
    return SignedCheckpoint(head, at, public_key(), _private_key().sign(_message(head, at)).hex())


def _find_last() -> AuditEntry | None:
    return list_entries(AuditAction.HISTORY_PUBLISHED).last()


def find_published() -> SignedCheckpoint | None:
    """Return the checkpoint that was published last, from the audit trail."""
    last = _find_last()
    return SignedCheckpoint.parse(canonical_json(last.detail)) if last is not None and last.detail else None


def _is_due(now: datetime) -> bool:
    """Return whether a publication is due and anything but the last publication happened since."""
    last = _find_last()
    if last is None:
        return True
    if last.at > now - timedelta(minutes=settings.APPLYVIZ_CHECKPOINT_MINUTES):
        return False
    return chain.find_checkpoint().sequence > last.sequence or anchors.has_pending()


def publish(*, by: Person | None, now: datetime | None = None, only_when_due: bool = False) -> SignedCheckpoint | None:
    """Anchor all chains, check every approval, sign the end of the global chain and publish it.

    - It is published in the trail, in `APPLYVIZ_CHECKPOINT_FILE` (after the commit) and to webhooks. It covers the
      entry with the result of the check of approvals.
    - `only_when_due`: None when it is too early or nothing happened; of several workers one publishes.
    """
    at = now or clock.host_now()
    if only_when_due and not _is_due(at):
        return None
    anchors.anchor_pending()
    with transaction.atomic():
        trail.lock_chain(trail.GLOBAL)
        if only_when_due and not _is_due(at):
            return None
        _record_verdict(by)
        head = chain.find_checkpoint()
        signed = sign(Checkpoint(head.sequence, head.hash), at)
        trail.record(AuditAction.HISTORY_PUBLISHED, by=by, about=trail.AuditSubject(), detail=json.loads(str(signed)))
        transaction.on_commit(lambda: _append_to_file(signed))
    return signed


def _record_verdict(by: Person | None) -> None:
    """Record which approvals are genuine, so that the signature covers it and others can read it."""
    found = approval_macs.check_all()
    for forged in found.forged:
        _log.error("forged: %s", forged)
    detail = {
        "approvals": found.approvals,
        "emergency applies": found.emergencies,
        "forged": [str(one) for one in found.forged[:_MOST_NAMED]],
        "forged in all": len(found.forged),
    }
    trail.record(AuditAction.APPROVALS_CHECKED, by=by, about=trail.AuditSubject(), detail=detail)


def _append_to_file(signed: SignedCheckpoint) -> None:
    path = settings.APPLYVIZ_CHECKPOINT_FILE
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as output:
            output.write(f"{signed}\n")
            output.flush()
            os.fsync(output.fileno())
    except OSError as error:
        _log.error("the checkpoint could not be written to %s: %s", path, error)


def publish_due(*, now: datetime) -> SignedCheckpoint | None:
    """Publish a checkpoint when one is due and a file or a webhook receives it."""
    if not settings.APPLYVIZ_CHECKPOINT_MINUTES:
        return None
    if not settings.APPLYVIZ_CHECKPOINT_FILE and not Webhook.objects.filter(is_enabled=True, archived_at=None).exists():
        return None
    return publish(by=None, now=now, only_when_due=True)


def read_published(lines: Iterable[str]) -> list[SignedCheckpoint]:
    """Parse the checkpoints of a file; raises `NotValidError` for one that this installation did not sign."""
    found = [SignedCheckpoint.parse(line) for line in lines if line.strip()]
    foreign = next((one for one in found if not one.is_ours), None)
    if foreign is not None:
        raise NotValidError(_("checkpoint %(head)s was not signed by this installation") % {"head": foreign.head})
    return found


def read_pasted(text: str) -> tuple[Checkpoint, ...]:
    """Parse checkpoints as people keep them, one per line: signed, or `sequence:hash` alone.

    - Raises `NotValidError` for the first line of another form.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        try:
            if stripped:
                is_signed = stripped.startswith("{")
                found.append(read_published([stripped])[0].head if is_signed else Checkpoint.parse(stripped))
        except NotValidError as error:
            raise NotValidError(f"line {number}: {error}") from error
    return tuple(found)


def find_contradiction(published: Iterable[Checkpoint]) -> BadEntry | None:
    """Return the first entry of the global chain that is missing or differs from a published checkpoint."""
    heads = sorted((one.sequence, one.hash) for one in published if one.sequence)
    rows = AuditEntry.objects.filter(chain=trail.GLOBAL, sequence__in=[sequence for sequence, _hash in heads])
    kept = {sequence: (hashed, pk) for sequence, hashed, pk in rows.values_list("sequence", "hash", "pk")}
    for sequence, hashed in heads:
        if sequence not in kept:
            return BadEntry(trail.GLOBAL, sequence, "a published checkpoint names it, but it is missing")
        if kept[sequence][0] != hashed:
            return BadEntry(trail.GLOBAL, sequence, "it is not the published checkpoint", kept[sequence][1])
    return None
