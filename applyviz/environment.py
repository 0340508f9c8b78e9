"""Read the process environment with types; every name may also be given as `NAME_FILE`.

An invalid value is an error that names the variable, never a silent default.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from applyviz.engine.objects.golang import is_digits

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


_DATABASES = frozenset({"django.db.backends.sqlite3", "django.db.backends.postgresql"})
_BROKERS = frozenset({"memory", "redis", "rediss", "redis+socket", "sentinel", "amqp", "amqps"})
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@contextmanager
def refusing() -> Iterator[None]:
    """End the process with one line that names what is not configured; servers and Celery respect only `SystemExit`."""
    try:
        yield
    except ImproperlyConfigured as error:
        raise SystemExit(f"applyviz is not configured: {error}") from None


def text(name: str, default: str = "") -> str:
    """Return the value of `NAME`, or the stripped content of the file that `NAME_FILE` names."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:  # it would repeat what is in the file
            raise ImproperlyConfigured(f"{name}_FILE: {path} is not text in UTF-8") from error
    return os.environ.get(name, default)


def new_file(name: str) -> str:
    """Return the path of a file that this process creates or replaces; "" if none is named.

    - Raises `ImproperlyConfigured` when its folder is missing, or when the process cannot write there.
    """
    path = text(name)
    if path:
        try:
            if Path(path).exists():
                Path(path).open("ab").close()  # a file of another user would stop the pulse later
            else:
                tempfile.TemporaryFile(dir=Path(path).parent).close()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}: {path} cannot be written: {error.strerror}") from error
    return path


def flag(name: str, *, default: bool) -> bool:
    """Return a boolean."""
    value = text(name, "on" if default else "off").strip().lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}: expected one of on, off, true, false, 1, 0; got {value!r}")


def number(name: str, default: int) -> int:
    """Return a variable as an integer; raises `ImproperlyConfigured` for any other text."""
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: expected a whole number; got {value!r}") from error


def database(name: str, url: str) -> dict[str, Any]:
    """Return the settings of the database at a URL, which may hold a password and is never repeated.

    - Raises `ImproperlyConfigured`, naming the variable, unless it is a PostgreSQL with a name, or a file of SQLite.
    """
    try:
        found: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except ValueError:
        found = {}
    if found.get("ENGINE") not in _DATABASES or not found.get("NAME"):
        raise ImproperlyConfigured(
            f"{name}: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, percent-encoded, or sqlite:////PATH"
        )
    return found


def _can_be_reached(url: str) -> bool:
    """Return whether a URL of Redis names a port and a database that can exist; Celery would retry others for ever."""
    if not url.startswith(("redis://", "rediss://")):
        return True
    try:
        parts = urlsplit(url)
        return parts.port != 0 and not parts.fragment and (parts.path in ("", "/") or is_digits(parts.path[1:]))
    except ValueError:  # it would repeat a part of the password
        return False


def check_broker(url: str) -> str:
    """Return the URL of a message broker, which may hold a password and is never repeated."""
    if url.partition(":")[0] not in _BROKERS or not all(map(_can_be_reached, url.split(";"))):
        raise ImproperlyConfigured("CELERY_BROKER_URL, else REDIS_URL: expected redis://:PASSWORD@HOST:PORT/NUMBER")
    return url


def time_zone(name: str) -> str:
    """Return the name of a time zone, UTC by default."""
    value = text(name) or "UTC"
    try:
        return ZoneInfo(value).key
    except (OSError, ValueError, KeyError) as error:  # a folder, a path outside the zones, no zone
        raise ImproperlyConfigured(f"{name}: expected a time zone such as Europe/Berlin; got {value!r}") from error


def log_level(name: str, default: str) -> str:
    """Return the name of a level of the log."""
    value = text(name) or default
    if value.upper() not in _LEVELS:
        raise ImproperlyConfigured(f"{name}: expected one of {', '.join(_LEVELS)}; got {value!r}")
    return value.upper()


def words(name: str, default: str = "") -> list[str]:
    """Return the words of a list separated by commas or spaces."""
    return text(name, default).replace(",", " ").split()


def networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return addresses and networks (`10.0.0.7`, `10.1.0.0/16`, `fd00::/8`), separated by commas or spaces."""
    try:
        return tuple(ip_network(word) for word in words(name))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: expected addresses and networks; {error}") from error


def keep_private(folder: Path, database: Path) -> None:
    """Restrict the data of a personal installation to its owner, including files that an earlier umask left open.

    - The database file is created here, because SQLite gives a new file the modes of the umask, and its journals those
      of the database.
    - Files of other owners are not changed; symbolic links are not followed.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _restrict(folder, 0o700)
    keys = folder / "keys"
    with suppress(OSError):
        database.touch(mode=0o600)
    for path in (*database.parent.glob(f"{database.name}*"), *keys.glob("*")):
        _restrict(path, 0o600)
    _restrict(keys, 0o700)


def _restrict(path: Path, mode: int) -> None:
    with suppress(OSError):
        if not path.is_symlink() and path.is_dir() == (mode == 0o700) and path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)


LEAST_KEY_LENGTH = 32
_GUESSED = ("insecure", "django-insecure", "change")


def _is_weak(value: str) -> bool:
    return len(value) < LEAST_KEY_LENGTH or len(set(value)) < 8 or value.startswith(_GUESSED)


def require_key(name: str, value: str) -> None:
    """Raise `ImproperlyConfigured`, naming the variable, unless the value is a strong key."""
    if not value:
        raise ImproperlyConfigured(f"{name}: it is not set; set a random one of at least {LEAST_KEY_LENGTH} characters")
    if _is_weak(value):
        raise ImproperlyConfigured(
            f"{name}: it is too short or a default; set a random one of at least {LEAST_KEY_LENGTH} characters "
            f"(`scripts/secrets` makes one), or {name}_FILE"
        )


def require_strong_keys(keys: Mapping[str, str]) -> None:
    """Raise `ImproperlyConfigured` for a weak key, and for two equal keys."""
    given = {name: value for name, value in keys.items() if value}
    for name, value in given.items():
        require_key(name, value)
        twin = next((other for other in given if other != name and given[other] == value), None)
        if twin is not None:
            raise ImproperlyConfigured(f"{name}: it is the same as {twin}; every key needs a different value")


def require_earlier_keys(name: str, earlier: Sequence[str], keys: Mapping[str, str]) -> None:
    """Raise `ImproperlyConfigured` for an earlier key that is weak, listed twice, or one of the keys in use.

    - Content that an earlier key made is accepted: with a weak one, an attacker could make such content.
    """
    for number, value in enumerate(earlier, 1):
        if _is_weak(value):
            raise ImproperlyConfigured(
                f"{name}: key {number} of {len(earlier)} is too short or a default; an earlier key has at least "
                f"{LEAST_KEY_LENGTH} characters, and commas, spaces or line breaks separate several"
            )
        twin = next((other for other, key in keys.items() if key == value), None)
        if twin is not None:
            raise ImproperlyConfigured(
                f"{name}: key {number} of {len(earlier)} is {twin} itself; list only earlier keys"
            )
        if value in earlier[: number - 1]:
            raise ImproperlyConfigured(f"{name}: key {number} of {len(earlier)} is listed twice")


def kept_secret(path: Path, made: str | None = None) -> str:
    """Return the secret in a private file of this installation; create it on first use.

    - Two processes that start at once agree: the file is linked into place, which only one of them can do.
    - Raises `ImproperlyConfigured` if the file can be neither read nor created.
    """
    try:
        return _read_or_make(path, made)
    except OSError as error:
        raise ImproperlyConfigured(
            f"APPLYVIZ_HOME: no key can be kept in {path.parent} ({error.strerror}); choose another folder"
        ) from error


def _read_or_make(path: Path, made: str | None) -> str:
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
