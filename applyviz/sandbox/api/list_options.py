"""Read the query of a list or of a watch: numbers, selectors, the position of a page, and what contradicts itself.

Rule: `ListOptions` of meta.k8s.io/v1 and their validation. The order is the server's: numbers, selectors, rules, names
of fields, and what the storage reads.
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.objects.golang import is_digits, quote, read_digits, read_signed
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import MutableObject
from applyviz.kubernetes.parity.json_text import JSONTextError, read_json
from applyviz.kubernetes.parity.status import (
    FieldError,
    StatusError,
    bad_request,
    forbidden,
    invalid_object,
    not_supported,
)
from applyviz.sandbox.api.field_selectors import find_fields, parse_field_selector
from applyviz.sandbox.api.label_selectors import parse_label_selector
from applyviz.sandbox.storage.resources import ResourceTarget

_VERSION = "meta.k8s.io/v1"
_INVALID = "continue key is not valid"


class PageStart(Struct, frozen=True):
    """Where a page continues: behind which object, at which revision."""

    namespace: str
    name: str
    revision: int


class ListOptions(Struct, frozen=True):
    """The options of one list; `limit` 0 is none."""

    is_chosen: Callable[[MutableObject], bool]
    limit: int = 0
    start: PageStart | None = None


def read_number(query: Mapping[str, str], name: str) -> int:
    """Return an integer of a query, 0 if it is absent.

    - Raises `StatusError` (400).
    """
    text = query.get(name)
    if text is None:
        return 0
    number = read_signed(text)
    if number is None:
        digits = text[1:] if text.startswith(("+", "-")) else text
        reason = "value out of range" if is_digits(digits) else "invalid syntax"
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: {reason}")
    return number


def is_set(query: Mapping[str, str], name: str) -> bool:
    """Return whether a query asks for an option: any value but `0` and `false` does."""
    return name in query and query[name] != "0" and query[name].lower() != "false"


def find_number_problem(text: str) -> str:
    """Return why a text is no unsigned number, empty text if it is one, or is empty."""
    if not text or read_digits(text) is not None:
        return ""
    reason = "value out of range" if is_digits(text) else "invalid syntax"
    return f"strconv.ParseUint: parsing {quote(text)}: {reason}"


def find_revision_problem(query: Mapping[str, str]) -> str:
    """Return why the `resourceVersion` of a query is none, empty text if it is one, or absent."""
    text = query.get("resourceVersion", "")
    problem = find_number_problem(text)
    return f"resourceVersion: Invalid value: {quote(text)}: {problem}" if problem else ""


def read_selection(target: ResourceTarget, query: Mapping[str, str]) -> Callable[[MutableObject], bool]:
    """Return the predicate of the selectors of a query, for objects at the version of the target.

    - Raises `StatusError` (400) for invalid selectors.
    """
    return _read_selection(target, query, lambda: None)


def _read_selection(
    target: ResourceTarget, query: Mapping[str, str], check: Callable[[], None]
) -> Callable[[MutableObject], bool]:
    labels = parse_label_selector(query.get("labelSelector", ""))
    terms = parse_field_selector(query.get("fieldSelector", ""))
    check()
    passes = find_fields(terms, target)
    return lambda obj: labels.matches(obj["metadata"].get("labels") or {}) and passes(obj)


def _list_problems(query: Mapping[str, str]) -> Iterator[FieldError]:
    path, match = "resourceVersionMatch", query.get("resourceVersionMatch", "")
    version = query.get("resourceVersion", "")
    if match and not version:
        yield forbidden(path, f"{path} is forbidden unless resourceVersion is provided")
    if match and query.get("continue"):
        yield forbidden(path, f"{path} is forbidden when continue is provided")
    if match and match not in ("Exact", "NotOlderThan"):
        yield not_supported(path, match, ["Exact", "NotOlderThan", ""])
    if match == "Exact" and version == "0":
        yield forbidden(path, f'{path} "exact" is forbidden for resourceVersion "0"')
    if "sendInitialEvents" in query:
        yield forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _list_watch_problems(query: Mapping[str, str]) -> Iterator[FieldError]:
    path, is_initial = "resourceVersionMatch", "sendInitialEvents" in query
    match = query.get(path, "")
    if is_initial and match != "NotOlderThan":
        yield forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if match and not is_initial:
        yield forbidden(path, f"{path} is forbidden for watch unless sendInitialEvents is provided")
    if match and match != "NotOlderThan":
        yield not_supported(path, match, ["NotOlderThan"])


def check_watch_options(target: ResourceTarget, query: Mapping[str, str]) -> None:
    """Check the options of a watch, but for its revision.

    - Raises `StatusError`: 400 for what cannot be read, 422 for options that contradict each other.
    """
    _read_options(target, query, _list_watch_problems)


def _read_options(
    target: ResourceTarget, query: Mapping[str, str], find_problems: Callable[[Mapping[str, str]], Iterator[FieldError]]
) -> ListOptions:
    """Return selection and limit of a query whose options do not contradict each other."""

    def check() -> None:
        if errors := list(find_problems(query)):
            raise invalid_object("meta.k8s.io", "ListOptions", "", errors)

    read_number(query, "timeoutSeconds")
    limit = read_number(query, "limit")
    return ListOptions(_read_selection(target, query, check), max(limit, 0))


def read_list_options(target: ResourceTarget, query: Mapping[str, str]) -> ListOptions:
    """Return the options of a list or of the deletion of a collection.

    - Raises `StatusError`: 400 for what cannot be read, 422 for options that contradict each other.
    """
    options = _read_options(target, query, _list_problems)
    if problem := find_revision_problem(query):
        raise bad_request(f"invalid resource version: {problem}")
    token = query.get("continue", "")
    return replace(options, start=_read_token(token)) if token else options


def write_token(namespace: str, name: str, revision: int) -> str:
    """Return the token of the page behind an object."""
    path = f"{namespace}/{name}" if namespace else name
    text = json.dumps({"v": _VERSION, "rv": revision, "start": f"{path}\0"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _refuse_token(reason: str) -> StatusError:
    return bad_request(f"invalid continue token: {reason}")


def _read_token(token: str) -> PageStart:
    try:
        text = base64.b64decode((token + "=" * (-len(token) % 4)).encode(), altchars=b"-_", validate=True)
        found = read_json(text)
    except JSONTextError as error:
        raise _refuse_token(f"{_INVALID}: {error}") from None
    except (ValueError, binascii.Error):
        raise _refuse_token(f"{_INVALID}: illegal base64 data") from None
    fields = found if isinstance(found, dict) else {}
    version, revision, start = fields.get("v", ""), fields.get("rv", 0), fields.get("start", "")
    if version != _VERSION:
        raise _refuse_token(f"{_INVALID}: server does not recognize this encoded version {version}")
    if not isinstance(revision, int) or not revision:
        raise _refuse_token(f"{_INVALID}: incorrect encoded start resourceVersion (version {_VERSION})")
    if not isinstance(start, str) or not start:
        raise _refuse_token(f"{_INVALID}: encoded start key empty (version {_VERSION})")
    key = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(key) != key:
        raise _refuse_token(f"{_INVALID}: {start}")
    namespace, _, name = start.strip("/").rstrip("\0").rpartition("/")
    return PageStart(namespace, name, revision)
