"""Read the query of a write: dry run, field manager, force, field validation.

Rule: `CreateOptions`, `UpdateOptions`, `PatchOptions` of meta.k8s.io/v1 and their validation.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.kubernetes.parity.status import (
    FieldError,
    forbidden,
    invalid,
    invalid_object,
    not_supported,
    required,
    too_long,
)

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MANAGER_LIMIT = 128


class WriteOptions(Struct, frozen=True):
    """The options of one write; `validation` is Strict, Warn or Ignore."""

    manager: str
    is_dry_run: bool = False
    is_forced: bool = False
    validation: str = "Warn"
    warnings: tuple[str, ...] = ()


def _check_manager(manager: str, is_apply: bool) -> list[FieldError]:
    if is_apply and not manager:
        return [required("fieldManager", "is required for apply patch")]
    if len(manager) > _MANAGER_LIMIT:
        return [too_long("fieldManager", _MANAGER_LIMIT)]
    return [
        invalid("fieldManager", manager, f"invalid character U+{ord(char):04X} (at position {at})")
        for at, char in enumerate(manager)
        if not char.isprintable()
    ]


def read_options(request: Request, user: str) -> WriteOptions:
    """Return the options of a create, update or patch; `user` is the manager if the query names none.

    - Raises `StatusError` (422) that names every invalid option.
    """
    query = request.query
    is_apply = request.content_type == APPLY_PATCH
    errors: list[FieldError] = []
    if query.get("dryRun", "All") not in ("All", ""):
        errors.append(not_supported("dryRun", [query["dryRun"]], ["All"]))
    if "force" in query and not is_apply and request.method == "PATCH":
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    errors += _check_manager(query.get("fieldManager", ""), is_apply)
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        errors.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        word = {"POST": "Create", "PUT": "Update"}.get(request.method, "Patch")
        raise invalid_object("meta.k8s.io", f"{word}Options", "", errors)
    return WriteOptions(
        manager=query.get("fieldManager") or user or "unknown",
        is_dry_run=bool(query.get("dryRun")),
        is_forced="force" in query and query["force"].lower() not in ("false", "0"),
        validation=validation or "Warn",
    )
