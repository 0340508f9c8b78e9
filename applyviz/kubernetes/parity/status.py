"""Errors in the words of the API server: `Status` objects and the field errors inside them.

Rule: k8s.io/apimachinery `pkg/api/errors` (reasons, codes) and `pkg/util/validation/field` (wording). The server's
entry point converts a `StatusError` to an `Answer`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from msgspec import Struct

from applyviz.engine.objects.golang import quote, render_json, render_number
from applyviz.engine.objects.values import JSONValue, MutableObject
from applyviz.kubernetes.parity.field_order import render_ordered

IMMUTABLE: Final = "field is immutable"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"


class FieldErrorType(StrEnum):
    """The reason of a cause in a `Status`."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    TYPE_INVALID = "FieldValueTypeInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


def render_value(value: JSONValue) -> str:
    """Return a bad value as the server prints it: text quoted, numbers as in Go, structures as JSON."""
    if isinstance(value, float):
        return render_number(value)
    return quote(value) if isinstance(value, str) else render_json(value)


class FieldError(Struct, frozen=True):
    """One problem of one field; `str()` is its line in the message.

    - `is_warning`: it does not cause a refusal, because the field is unchanged.
    """

    type: FieldErrorType
    path: str
    body: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.body}" if self.path else self.body


def required(path: str, detail: str = "") -> FieldError:
    """Return `Required value`."""
    return FieldError(FieldErrorType.REQUIRED, path, "Required value" + (f": {detail}" if detail else ""))


def invalid(path: str, value: JSONValue, detail: str) -> FieldError:
    """Return `Invalid value: …`."""
    return FieldError(FieldErrorType.INVALID, path, f"Invalid value: {render_value(value)}: {detail}")


def invalid_struct(path: str, value: JSONValue, detail: str) -> FieldError:
    """Return `Invalid value: …` of a Go struct: its fields are printed in the order of the value."""
    return FieldError(FieldErrorType.INVALID, path, f"Invalid value: {render_ordered(value)}: {detail}")


def type_invalid(path: str, value: JSONValue, detail: str) -> FieldError:
    """Return `Invalid value: …` of a wrong JSON type."""
    return FieldError(FieldErrorType.TYPE_INVALID, path, f"Invalid value: {render_value(value)}: {detail}")


def not_supported(path: str, value: JSONValue, supported: Iterable[str]) -> FieldError:
    """Return `Unsupported value`, with the supported values; a struct is printed in the order of its fields."""
    names = ", ".join(json.dumps(s) for s in supported)
    shown = render_ordered(value) if isinstance(value, dict) else render_value(value)
    return FieldError(FieldErrorType.NOT_SUPPORTED, path, f"Unsupported value: {shown}: supported values: {names}")


def duplicate(path: str, value: JSONValue) -> FieldError:
    """Return `Duplicate value`."""
    return FieldError(FieldErrorType.DUPLICATE, path, f"Duplicate value: {render_value(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    """Return `Forbidden: …`."""
    return FieldError(FieldErrorType.FORBIDDEN, path, f"Forbidden: {detail}")


def not_found_value(path: str, value: JSONValue) -> FieldError:
    """Return `Not found`."""
    return FieldError(FieldErrorType.NOT_FOUND, path, f"Not found: {render_value(value)}")


def too_long(path: str, limit: int) -> FieldError:
    """Return `Too long`."""
    return FieldError(FieldErrorType.TOO_LONG, path, f"Too long: may not be more than {limit} bytes")


@dataclass(eq=False)
class StatusError(Exception):
    """A request that the server refuses; `causes` are (reason, message, field).

    - `has_details`: write details even if they are empty.
    """

    code: int
    reason: str
    message: str
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: Sequence[tuple[str, str, str]] = ()
    extra: MutableObject = field(default_factory=dict)
    has_details: bool = False
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.message

    def render(self) -> MutableObject:
        """Return the `Status` object."""
        details: MutableObject = {
            k: v for k, v in (("name", self.name), ("group", self.group), ("kind", self.kind)) if v
        }
        if self.causes:
            details["causes"] = [_render_cause(*cause) for cause in self.causes]
        details.update(self.extra)
        status: MutableObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if details or self.has_details:
            status["details"] = details
        status["code"] = self.code
        return status


def _render_cause(reason: str, message: str, path: str) -> MutableObject:
    cause = {"reason": reason, "message": message, "field": path}
    return {k: v for k, v in cause.items() if v}


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def bad_request(message: str) -> StatusError:
    """Return a 400."""
    return StatusError(400, "BadRequest", message)


def not_found(group: str, plural: str, name: str) -> StatusError:
    """Return the 404 of an object."""
    return StatusError(404, "NotFound", f'{_qualified(plural, group)} "{name}" not found', name, group, plural)


def no_such_path() -> StatusError:
    """Return the 404 of a path that a group of the server does not serve."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", has_details=True)


def no_such_page() -> StatusError:
    """Return the 404 of a path of no group: over HTTP it is a page of text, which clients read as this `Status`."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def already_exists(group: str, plural: str, name: str) -> StatusError:
    """Return the 409 of a create."""
    message = f'{_qualified(plural, group)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, name, group, plural)


def conflict(group: str, plural: str, name: str, detail: str) -> StatusError:
    """Return the 409 of a precondition."""
    message = f'Operation cannot be fulfilled on {_qualified(plural, group)} "{name}": {detail}'
    return StatusError(409, "Conflict", message, name, group, plural)


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def invalid_object(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """Return a 422 with its causes; the message contains equal lines once."""
    lines = list(dict.fromkeys(str(e) for e in errors))
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    message = f'{_qualified(kind, group)} "{name}" is invalid: {text}'
    causes = [(e.type.value, e.body, e.path) for e in errors]
    return StatusError(422, "Invalid", message, name, group, kind, causes)


def forbidden_request(
    group: str, plural: str, name: str, detail: str, causes: Sequence[tuple[str, str, str]] = ()
) -> StatusError:
    """Return a 403."""
    message = f'{_qualified(plural, group)} "{name}" is forbidden: {detail}'
    return StatusError(403, "Forbidden", message, name, group, plural, causes)


def method_not_allowed() -> StatusError:
    """Return a 405: no route of the path has the method."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, has_details=True)


def method_not_supported(group: str, plural: str, verb: str) -> StatusError:
    """Return a 405: a custom resource does not support the verb."""
    message = f'{verb} is not supported on resources of kind "{_qualified(plural, group)}"'
    return StatusError(405, "MethodNotAllowed", message, "", group, plural)


def unsupported_media_type(detail: str) -> StatusError:
    """Return a 415."""
    return StatusError(415, "UnsupportedMediaType", detail)


def internal_error(message: str) -> StatusError:
    """Return a 500 with its cause, as the server wraps an internal error."""
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", causes=[("", message, "")])
