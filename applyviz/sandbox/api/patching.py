"""Apply the patches that a server accepts: parse the bytes, patch the live object, decode the result as its kind.

Rule: `jsonPatcher`, `smpPatcher` and `applyPatcher` of k8s.io/apiserver `pkg/endpoints/handlers/patch.go`. Strict
validation reports problems of the patch itself (duplicate fields) before those of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from applyviz.engine.manifests.metadata import name_of_type
from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.kubernetes.parity.decoding import Decoder, Spot
from applyviz.kubernetes.parity.field_order import order_as_served, render_ordered
from applyviz.kubernetes.parity.go_types import GoField, GoStruct
from applyviz.kubernetes.parity.json_text import (
    Repeated,
    find_repeated,
    find_repeated_paths,
    list_pairs,
    normalize_numbers,
    simplify,
)
from applyviz.kubernetes.parity.patch_print import print_strategic
from applyviz.kubernetes.parity.payloads import (
    YAML_ERRORS,
    Payload,
    UnreadableError,
    find_yaml_repeats,
    read_yaml,
    sort_keys,
)
from applyviz.kubernetes.parity.status import StatusError, bad_request, unsupported_media_type
from applyviz.sandbox.storage.bodies import Body, read_patched
from applyviz.sandbox.storage.resources import ResourceTarget

_MAP: Final = "map[string]interface {}"
_OPERATION: Final = GoStruct(
    "jsonPatchOp",
    "jsonPatchOp",
    {
        name: GoField(name, code, False, False, go_type, "", name)
        for name, code, go_type in (("op", "s", "string"), ("path", "s", "string"), ("from", "s", "string"))
    },
)
_CUSTOM_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def check_patch_type(target: ResourceTarget, content_type: str) -> None:
    """Refuse a patch type that the resource does not accept (415)."""
    if target.struct is None and content_type not in _CUSTOM_TYPES:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(_CUSTOM_TYPES)
        )
    if content_type not in (*_CUSTOM_TYPES, STRATEGIC_MERGE_PATCH):
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", has_details=True)


def apply_patch(target: ResourceTarget, content_type: str, payload: Payload, live: JSONObject, validation: str) -> Body:
    """Return the object that a JSON, merge or strategic patch produces.

    - Raises `StatusError` if the patch cannot be read (400), does not apply, or does not produce a valid object (422).
    """
    is_strategic = content_type == STRATEGIC_MERGE_PATCH
    try:
        patch, repeated = _read_patch(payload, content_type, is_checked=validation != "Ignore")
    except UnreadableError as error:
        raise bad_request(str(error)) from error
    before = live if is_strategic else order_as_served(target.struct, live)
    try:
        # A lenient reader accepts a list as the whole result of a merge patch.
        is_list = content_type == MERGE_PATCH and isinstance(patch, list)
        patched = sort_keys(patch) if is_list else patches.apply(before, patch, content_type, kind=target.kind)
    except PatchError as error:
        raise refuse_patch(error) from error
    describe: Callable[[], str] = lambda: render_ordered(patched)  # noqa: E731  (rendered only on error)
    if is_strategic:
        describe = lambda: print_strategic(patch, live, target.kind)  # noqa: E731
    body = read_patched(target, patched, validation, describe, repeated=repeated, is_strategic=is_strategic)
    if isinstance(patched.get("metadata"), dict) and patched["metadata"].get("managedFields") == []:
        body.obj["metadata"]["managedFields"] = []
    return body


def _read_patch(payload: Payload, content_type: str, *, is_checked: bool) -> tuple[JSONValue, list[str]]:
    """Return the patch and the messages of strict decoding."""
    if content_type == JSON_PATCH:
        return _read_operations(payload, is_checked)
    prefix = "error decoding patch: " if content_type == MERGE_PATCH else ""
    if content_type == MERGE_PATCH and not is_checked:
        try:
            value = payload.read_json("")
        except UnreadableError:
            raise UnreadableError("Invalid JSON Patch") from None
        if not isinstance(value, (dict, list)):
            raise UnreadableError("Invalid JSON Patch")
        return value, []
    value = payload.read_json(prefix)
    if value is not None and not isinstance(value, dict):
        raise UnreadableError(f"{prefix}json: cannot unmarshal {name_of_type(value)} into Go value of type {_MAP}")
    repeated = list(find_repeated(value)) if is_checked else []
    return (value if content_type == MERGE_PATCH else simplify(value or {})), repeated


def _read_operations(payload: Payload, is_checked: bool) -> tuple[JSONValue, list[str]]:
    prefix, whole, one = ("", "jsonpatch.Patch", "jsonpatch.Operation")
    if is_checked:
        prefix, whole, one = ("error decoding patch: ", "[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    value = payload.read_json(prefix)
    if not isinstance(value, list):
        if value is None:
            return [], []
        raise UnreadableError(f"{prefix}json: cannot unmarshal {name_of_type(value)} into Go value of type {whole}")
    decoder = Decoder()
    for number, operation in enumerate(value):
        spot = Spot(f"[{number}]", go_type=one)
        if isinstance(operation, dict):
            if is_checked:
                _check_operation(decoder, operation, spot)
        elif operation is not None:
            decoder.wrong(operation, spot, None)
    if decoder.saved is not None:
        raise UnreadableError(f"{prefix}{decoder.saved}")
    strict = [f"json patch {text}" for text in decoder.list_strict()] if is_checked else []
    return [operation or {} for operation in value], strict


def _check_operation(decoder: Decoder, operation: JSONObject, spot: Spot) -> None:
    """Decode one operation as its struct; its value may be anything."""
    pairs = list(list_pairs(operation))
    seen = 0
    for name, item in pairs:
        if name == "value":
            seen += 1
            if seen > 1:
                decoder.note("duplicate", f"{spot.path}.value")
            for path in find_repeated_paths(item, f"{spot.path}.value"):
                decoder.note("duplicate", path)
    decoder.struct(Repeated([p for p in pairs if p[0] != "value"]), _OPERATION, spot)


def refuse_patch(error: PatchError) -> StatusError:
    """Return the server's error for a patch that does not apply."""
    if error.status == 422:
        message = "the server rejected our request due to an error in our request"
        return StatusError(422, "Invalid", message, has_details=True)
    reasons = {400: "BadRequest", 415: "UnsupportedMediaType", 500: ""}
    return StatusError(error.status, reasons.get(error.status, ""), error.reason)


def read_configuration(payload: Payload) -> MutableObject:
    """Return the applied configuration of a server-side apply (400 if it is not a map).

    - Its kind and its name are checked later.
    """
    try:
        value = payload.value if payload.text is None else read_yaml(payload.text)
    except UnreadableError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        reason = f"json: cannot unmarshal {name_of_type(value)} into Go value of type {_MAP}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {reason}")
    return {name: normalize_numbers(item) for name, item in value.items()}


def check_repeated_keys(payload: Payload, validation: str) -> tuple[str, ...]:
    """Return warnings about duplicate keys in an applied configuration; Strict refuses them (400)."""
    found = find_yaml_repeats(payload.text) if payload.text is not None and validation != "Ignore" else []
    if not found:
        return ()
    if validation == "Strict":
        raise bad_request(f"error strict decoding YAML: error converting YAML to JSON: {found[0]}")
    return tuple(dict.fromkeys(line.strip() for line in found[0].removeprefix(YAML_ERRORS).split("\n")))
