"""Refuse manifests whose text contains a NUL character at intake, because no database stores one in text.

kubectl would send it; here it would stop the plan much later, with a worse reason.
"""

from __future__ import annotations

from applyviz.engine.manifests.documents import DocumentProblem, ManifestDocument, ParsedFile, PlainPath, to_field_path
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue

_SHOWN = "\N{SYMBOL FOR NULL}"


def refuse_nuls(parsed: ParsedFile) -> ParsedFile:
    """Return the file without documents that contain a NUL character; each becomes a problem with a position."""
    kept: list[ManifestDocument] = []
    problems = [replace(p, reason=_show(p.reason), path=_show_path(p.path)) for p in parsed.problems]
    for document in parsed.documents:
        # The object of a patch holds the values that it sets; its operations hold more.
        plain = _find_nul(document.obj)
        if plain is None and document.patch is not None:
            plain = _find_nul(document.patch.body)
        if plain is None and not any("\0" in note.text for note in document.retyped):
            kept.append(document)
            continue
        path = render_path(to_field_path(plain or ())) or "the document"
        reason = f"{_show(path)} holds a NUL character (U+0000): remove it"
        problems.append(DocumentProblem(reason, document.positions.nearest(plain or ())))
    channel = parsed.channel
    if channel is not None and _find_nul(channel.obj) is not None:
        problems.append(DocumentProblem("the channel holds a NUL character (U+0000): remove it", channel.position))
        channel = None
    return replace(parsed, documents=tuple(kept), problems=tuple(problems), channel=channel)


def _show(text: str) -> str:
    return text.replace("\0", _SHOWN)


def _show_path(path: FieldPath) -> FieldPath:
    return path if all("\0" not in str(part) for part in path) else ()


def _find_nul(value: JSONValue) -> PlainPath | None:
    """Return the path of the first text with a NUL; None if there is none. Shared values are visited once."""
    seen: set[int] = set()
    waiting: list[tuple[PlainPath, JSONValue]] = [((), value)]
    while waiting:
        path, found = waiting.pop()
        if isinstance(found, str):
            if "\0" in found:
                return path
        elif isinstance(found, (dict, list)) and id(found) not in seen:
            seen.add(id(found))
            if isinstance(found, dict) and any("\0" in key for key in found):
                return path
            items = found.items() if isinstance(found, dict) else enumerate(found)
            waiting.extend(((*path, key), child) for key, child in items)
    return None
