"""The list `patches` of a body: each is sent to one object, as `kubectl patch` does.

They become patch documents in one file of the source, beside the files of the body, so that what is frozen and reviewed
is the same as with a file that holds them.
"""

from __future__ import annotations

import json

from applyviz.engine.manifests.documents import PatchType
from applyviz.engine.manifests.patch_documents import SUBRESOURCES, write_patch
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.options import SetAction
from applyviz.web.api.targets import WRITE, EntryReader, parse_target
from applyviz.web.reviews.forms.patches import FILE, LONGEST_PATCH, MOST_OBJECTS

_PARTS = ("type", "target", "subresource", "patch")
_FLAT = ("patch_objects", "patch_type", "patch_subresource", "patch")


def _read_text(reader: EntryReader, number: int, value: JSONValue) -> str:
    """Return the text of a patch; one that is given as JSON is written as its text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""
    if not text.strip():
        reader.note(number, "patch", "must be the patch, as text or as JSON")
    if len(text) > LONGEST_PATCH:
        reader.note(number, "patch", f"must have at most {LONGEST_PATCH} characters")
    return text


def _write_document(
    reader: EntryReader, number: int, entry: JSONObject, namespace: str, seen: dict[tuple[str, ...], int]
) -> str:
    kind = reader.read_choice(number, entry, "type", [one.value for one in PatchType], PatchType.STRATEGIC.value)
    subresource = reader.read_choice(number, entry, "subresource", ("", *SUBRESOURCES))
    text = _read_text(reader, number, entry.get("patch"))
    target = entry.get("target")
    if not isinstance(target, str) or not target:
        reader.note(number, "target", WRITE)
        return ""
    try:
        ref = parse_target(target, namespace=namespace)
    except ManifestError as error:
        reader.note(number, "target", error.reason)
        return ""
    first = seen.setdefault(ref.key, number)
    if first != number:
        reader.note(number, "target", f"{ref} is patched by patches[{first}] too: bring one patch for each object")
    return write_patch(ref, text, patch_type=PatchType(kind), subresource=subresource)


def expand_patches(given: JSONObject, *, namespace: str) -> JSONObject:
    """Return a body with its list `patches` as a file, and with the operation Patch; raises `ProblemsError`."""
    if "patches" not in given:
        return given
    reader, seen = EntryReader("patches"), dict[tuple[str, ...], int]()
    documents = [
        _write_document(reader, number, entry, namespace, seen)
        for number, entry in reader.read(given["patches"], MOST_OBJECTS, _PARTS)
    ]
    files = given.get("files", [])
    if given.get("operation") not in (None, "", SetAction.PATCH):
        reader.note(0, "", "patches belong to the operation patch")
    if any(given.get(name) for name in _FLAT):
        reader.note(0, "", "name the patch in patches or in patch, not in both")
    reader.raise_problems()
    rest = {name: value for name, value in given.items() if name != "patches"}
    if not documents:
        return rest
    added = {"name": FILE, "content": "---\n".join(documents)}
    listed = [*files, added] if isinstance(files, list) else files
    return {**rest, "operation": SetAction.PATCH.value, "files": listed}
