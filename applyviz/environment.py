"""Reads the process environment with types; every name may also be given as `NAME_FILE`.

A value that cannot be read is an error that names the variable, never a silent default.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def text(name: str, default: str = "") -> str:
    """The value of `NAME`, or the stripped content of the file that `NAME_FILE` names."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read: {error.strerror}") from error
    return os.environ.get(name, default)


def flag(name: str, *, default: bool) -> bool:
    """A yes or no."""
    value = text(name, "on" if default else "off").strip().lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}: expected one of on, off, true, false, 1, 0; got {value!r}")


def number(name: str, default: int) -> int:
    """A whole number."""
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: expected a whole number; got {value!r}") from error


def words(name: str, default: str = "") -> list[str]:
    """Words separated by commas or spaces."""
    return text(name, default).replace(",", " ").split()


def kept_secret(path: Path, made: str | None = None) -> str:
    """The secret kept in a private file of this installation; made on first use.

    - Two processes that start at once agree: the file is linked into place, which only one can do.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(made or secrets.token_urlsafe(48), encoding="utf-8")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text(encoding="utf-8").strip()
