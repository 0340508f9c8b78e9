"""Split the bytes of a file into the texts of its documents: encoding, JSON or YAML, separators.

Rule: kubectl's file visitor (byte order marks, invalid UTF-8 becomes U+FFFD) and the stream decoder of
k8s.io/apimachinery/pkg/util/yaml: a stream that starts with `{` is JSON until that fails, YAML is cut at lines that
start with `---` before it is parsed, so a directive never reaches its document.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.objects.errors import ManifestError, SourcePosition

_SEPARATOR = re.compile(rb"^---([^\n]*)\n?", re.MULTILINE)
_GO_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LOOK_AHEAD = 4096


class StreamDocument(Struct, frozen=True):
    """The text of one YAML document and the line (from 1) where it starts."""

    text: bytes
    first_line: int

    @property
    def end_line(self) -> int:
        """The last line that is not blank."""
        return self.first_line + self.text.rstrip().count(b"\n")


def decode_text(data: bytes) -> str:
    """Decode a file as kubectl does: by its byte order mark, else as UTF-8; never refuses anything."""
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    elif data.startswith(codecs.BOM_UTF16_LE):
        return data[2:].decode("utf-16-le", "replace")
    elif data.startswith(codecs.BOM_UTF16_BE):
        return data[2:].decode("utf-16-be", "replace")
    return data.decode("utf-8", "replace")


def skip_space_and_line(text: str, at: int) -> int | None:
    """Return where YAML starts when kubectl gives up on JSON at `at`: after blanks, at most on the next line.

    - None if fewer than four bytes remain: kubectl then does not try YAML.
    """
    while True:
        if len(text[at : at + 4].encode("utf-8", "replace")) < 4:
            return None
        if text[at] not in _GO_SPACE:
            return at
        at += 1
        if text[at - 1] == "\n":
            return at


def is_json_like(text: str) -> bool:
    """Return whether the first non-blank character, among the first ones, is an opening brace."""
    return text[:_LOOK_AHEAD].lstrip(_GO_SPACE).startswith("{")


def split_documents(text: bytes, file: str, first_line: int = 1) -> Iterator[StreamDocument | ManifestError]:
    """Yield the documents of YAML text; a separator followed by other text is an error.

    - The text before a broken separator is still yielded: kubectl drops it, but people would miss it.
    """
    text = text.replace(b"\r\n", b"\n")
    start, line = 0, first_line
    for match in _SEPARATOR.finditer(text):
        rest = match.group(1).decode("utf-8", "replace").strip()
        is_broken = bool(rest) and not rest.startswith("#")
        has_text = match.start() > start
        if not has_text and not is_broken:
            continue  # kubectl keeps a separator at the very start
        separator_line = line + text.count(b"\n", start, match.start())
        if is_broken:
            reason = "invalid Yaml document separator"  # what stands behind it may be a whole Secret
            yield ManifestError(reason, SourcePosition(file, separator_line, 1))
        if has_text:
            yield StreamDocument(text[start : match.start()], line)
        line, start = separator_line + 1, match.end()
    if start < len(text):
        yield StreamDocument(text[start:] + (b"" if text.endswith(b"\n") else b"\n"), line)
