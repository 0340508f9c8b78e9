"""The parsed form of frozen manifests: the intake or the first plan makes it; plans, runs and comparisons use it.

It is stored beside the files, sealed for its revision, and used only if its MAC fits: the MAC covers the bytes of every
file, the version of the reader and the parsed form, under a key that workers alone hold. So who writes to the database,
or holds the key of a web process, makes no run read other manifests than those that were reviewed. A form that does not
open, does not fit or is of another version is not used: the frozen bytes are parsed again, and replace it. An intake
keeps it only in a process that holds the key: that of a personal installation, or a worker that follows a branch.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import zlib

from django.conf import settings

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records import keyed_hashes
from applyviz.records.models import ParsedSource, SourceRevision
from applyviz.records.sealing import SealError, Unsealed
from applyviz.sources.bundle import SourceBundle
from applyviz.sources.sandboxed import decode_lines, name_reader, read_files
from applyviz.workflow.foundation import digests

logger = logging.getLogger(__name__)
_QUICK = 1  # level of compression: higher ones take several times as long for a tenth less


def _make_mac(revision: SourceRevision, bundle: SourceBundle, reader: str, content: bytes) -> str:
    key = hmac.digest(digests.digest_key(), b"applyviz parsed form of a source", "sha256")
    covered: list[JSONValue] = [revision.pk, reader, bundle.make_digest(key), hashlib.sha256(content).hexdigest()]
    return hmac.digest(key, canonical_json(covered).encode(), "sha256").hex()


def _find(revision: SourceRevision, bundle: SourceBundle, reader: str) -> tuple[ParsedFile, ...] | None:
    row = ParsedSource.objects.filter(revision=revision, reader=reader).first()
    if row is None:
        return None
    try:
        content = row.content.open_bytes()
    except SealError as error:
        logger.warning("The parsed form of source %s is not used: %s", revision.pk, error)
        return None
    if not keyed_hashes.is_same(_make_mac(revision, bundle, reader, content), row.mac):
        logger.warning("The parsed form of source %s is not used: it was not made from its files here", revision.pk)
        return None
    return decode_lines(bundle, zlib.decompress(content).split(b"\n"))


def _keep(revision: SourceRevision, bundle: SourceBundle, reader: str, lines: tuple[bytes, ...]) -> None:
    content = zlib.compress(b"\n".join(lines), _QUICK)
    row = ParsedSource(revision=revision, reader=reader, mac=_make_mac(revision, bundle, reader, content))
    row.content = Unsealed.of_bytes(content)
    ParsedSource.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["revision"], update_fields=["reader", "mac", "content"]
    )


def keep_read(revision: SourceRevision, bundle: SourceBundle) -> None:
    """Keep how the intake read the files of a revision, so that its first plan does not parse them again.

    - Keeps nothing in a process without the key of the MAC, or if the files were not read or a limit ended that.
    """
    if bundle.lines is not None and settings.APPLYVIZ_DIGEST_KEY:
        _keep(revision, bundle, name_reader(), bundle.lines)


def parse_source(revision: SourceRevision, bundle: SourceBundle) -> tuple[ParsedFile, ...]:
    """Return the parsed files of a source revision: as kept, else parsed in a child process with limits, and kept.

    - `bundle`: the frozen files of the revision. Nothing is kept if a limit of the child ended the reading of a file.
    """
    reader = name_reader()
    kept = _find(revision, bundle, reader)
    if kept is not None:
        return kept
    found = read_files(bundle)
    if found.lines:
        _keep(revision, bundle, reader, found.lines)
    return found.files
