"""The release notes of a chart, for pages: without what Secrets and credentials hold.

Notes are text that templates make of values, so they may repeat a password. Whatever is masked of the rendered objects,
and what the values name as a credential, is masked before anything is stored, in every form of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from applyviz.engine.diff.given_credentials import hide_and_cut, list_credentials
from applyviz.engine.diff.marks import is_masked_text
from applyviz.engine.diff.masking import find_secrets, mask
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue

MOST = 20_000
MOST_WARNINGS = 2_000


def _list_hidden(value: JSONValue, shown: JSONValue) -> Iterator[str]:
    """Yield the texts of an object that its masked form does not show."""
    if isinstance(value, dict) and isinstance(shown, dict):
        for name, below in value.items():
            yield from _list_hidden(below, shown.get(name))
    elif isinstance(value, list) and isinstance(shown, list):
        for item, other in zip(value, shown, strict=False):
            yield from _list_hidden(item, other)
    elif isinstance(value, (str, int, float)) and isinstance(shown, str) and is_masked_text(shown):
        yield str(value)


def _list_values(obj: JSONObject) -> Iterator[str]:
    gvk = GroupVersionKind.from_object(obj)
    for text in (*find_secrets(obj, gvk=gvk), *_list_hidden(obj, mask(obj, gvk=gvk, tag_key=b"notes"))):
        yield from (text, *list_credentials(text))


def mask_notes(
    notes: str, files: Iterable[ParsedFile], values: Iterable[bytes], known: Iterable[str] = (), *, most: int = MOST
) -> str:
    """Return the beginning of release notes, or of warnings, without credentials.

    - `values`: the values files and texts that a person gave; `known`: the credentials of the chart's own values.
    """
    found = {value for file in files for document in file.documents for value in _list_values(document.obj)}
    found.update(value for text in values for value in list_credentials(text.decode("utf-8", "replace")))
    return hide_and_cut(notes, found.union(known), most)
