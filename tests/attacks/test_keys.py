"""A team installation that starts with missing, weak or misplaced keys would be open: none does (N7)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from applyviz import sealing_keys
from tests.keys import public_key_of

pytestmark = pytest.mark.attacks
ROOT = Path(__file__).parents[2]
WEB = ("-c", "import applyviz.asgi; print('started')")
WORKER = ("-m", "celery", "--app", "applyviz.celery", "worker", "--pool", "solo")
BEAT = ("-c", "import applyviz.celery; print('started')")
BEAT_ITSELF = ("-m", "celery", "--app", "applyviz.celery", "beat")
CHECK = (str(ROOT / "manage.py"), "check")
MIGRATE = (str(ROOT / "manage.py"), "migrate", "--noinput")
OPENING = sealing_keys.make_opening_key()
DIGEST = "a-digest-key-that-only-this-test-knows-1"
BOTH = {
    "SECRET_KEY": "a-session-key-that-only-this-test-knows-1",
    "APPLYVIZ_WEB_KEY": "a-web-key-that-only-this-test-knows-1234",
    "APPLYVIZ_APPROVAL_KEY": "an-approval-key-that-only-this-test-knows",
    "APPLYVIZ_SEALING_KEY": sealing_keys.sealing_key_of(OPENING),
}
OF_WEB = {**BOTH, "APPLYVIZ_CHECKPOINT_PUBLIC_KEY": public_key_of(DIGEST)}
OF_MIGRATE = {"SECRET_KEY": BOTH["SECRET_KEY"]}
OF_WORKER = {**BOTH, "APPLYVIZ_OPENING_KEYS": OPENING, "APPLYVIZ_DIGEST_KEY": DIGEST}


def start(words: tuple[str, ...], folder: Path, keys: dict[str, str]) -> tuple[int, str]:
    """Start a process of a team with these keys; its exit status and what it said."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    settings = {
        "DJANGO_SETTINGS_MODULE": "applyviz.settings",
        "DATABASE_URL": f"sqlite:///{folder / 'team.sqlite3'}",
        "APPLYVIZ_HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "ALLOWED_HOSTS": "applyviz.example",
    }
    done = subprocess.run(
        [sys.executable, *words], env={**kept, **settings, **keys}, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("words", "keys", "named"),
    [
        (WEB, {**OF_WEB, "DEBUG": "on"}, "DEBUG: a team installation"),
        (WORKER, {**OF_WORKER, "DEBUG": "on"}, "DEBUG: a team installation"),
        (WEB, {**OF_WEB, "SECRET_KEY": ""}, "SECRET_KEY: it is not set"),
        (WEB, {**OF_WEB, "APPLYVIZ_WEB_KEY": ""}, "APPLYVIZ_WEB_KEY: it is not set"),
        (WEB, {**OF_WEB, "APPLYVIZ_APPROVAL_KEY": ""}, "APPLYVIZ_APPROVAL_KEY: it is not set"),
        (WEB, {**OF_WEB, "APPLYVIZ_APPROVAL_KEY": "short"}, "APPLYVIZ_APPROVAL_KEY: it is too short"),
        (WEB, {**OF_WEB, "APPLYVIZ_WEB_KEY": "a" * 64}, "APPLYVIZ_WEB_KEY: it is too short or a default"),
        (WEB, {**OF_WEB, "APPLYVIZ_WEB_KEY": OF_WEB["SECRET_KEY"]}, "it is the same as"),
        (WEB, {**OF_WEB, "APPLYVIZ_DIGEST_KEY": DIGEST}, "APPLYVIZ_DIGEST_KEY: a web process of a team must not"),
        (WEB, {**OF_WEB, "APPLYVIZ_CHECKPOINT_PUBLIC_KEY": ""}, "APPLYVIZ_CHECKPOINT_PUBLIC_KEY: it is not set"),
        (WORKER, {**OF_WORKER, "APPLYVIZ_DIGEST_KEY": ""}, "APPLYVIZ_DIGEST_KEY: it is not set"),
        (WORKER, {**OF_WORKER, "APPLYVIZ_APPROVAL_KEY": ""}, "APPLYVIZ_APPROVAL_KEY: it is not set"),
        (WORKER, {**OF_WORKER, "APPLYVIZ_DIGEST_KEY": "0123456789"}, "APPLYVIZ_DIGEST_KEY: it is too short"),
        (WORKER, {**OF_WORKER, "APPLYVIZ_OPENING_KEYS": ""}, "APPLYVIZ_OPENING_KEYS: it is not set"),
        (WEB, {**OF_WEB, "DATABASE_URL": ""}, "DATABASE_URL: it is not set"),
        (WORKER, {**OF_WORKER, "DATABASE_URL": ""}, "DATABASE_URL: it is not set"),
        (WEB, {**OF_WEB, "REDIS_URL": ""}, "REDIS_URL: it is not set"),
        (WORKER, {**OF_WORKER, "REDIS_URL": ""}, "REDIS_URL: it is not set"),
        (BEAT_ITSELF, {"SECRET_KEY": BOTH["SECRET_KEY"], "REDIS_URL": ""}, "REDIS_URL: it is not set"),
    ],
)
def test_no_process_starts_with_keys_that_protect_nothing(
    tmp_path: Path, words: tuple[str, ...], keys: dict[str, str], named: str
) -> None:
    status, said = start(words, tmp_path, keys)

    assert (status != 0, named in said) == (True, True), said


@pytest.mark.parametrize(("words", "keys"), [(WEB, OF_WEB), (BEAT, {"SECRET_KEY": BOTH["SECRET_KEY"]})])
def test_a_process_starts_with_the_keys_of_its_role(tmp_path: Path, words: tuple[str, ...], keys: dict[str, str]):
    status, said = start(words, tmp_path, keys)

    assert (status, said.startswith("started\n")) == (0, True), said


EARLIER = "an-approval-key-that-was-in-use-before-it"
ABOUT_APPROVALS, ABOUT_SESSIONS = "APPLYVIZ_APPROVAL_KEY_FALLBACKS", "SECRET_KEY_FALLBACKS"


@pytest.mark.core(4)
@pytest.mark.parametrize(
    ("words", "keys", "name", "earlier", "why"),
    [
        (CHECK, OF_WEB, ABOUT_APPROVALS, "a-key", "key 1 of 1 is too short or a default"),
        (CHECK, OF_WEB, ABOUT_APPROVALS, f"{EARLIER} {EARLIER[:31]}", "key 2 of 2 is too short or a default"),
        (CHECK, OF_WEB, ABOUT_APPROVALS, f"{EARLIER},{EARLIER}", "key 2 of 2 is listed twice"),
        (CHECK, OF_WEB, ABOUT_APPROVALS, BOTH["APPLYVIZ_APPROVAL_KEY"], "key 1 of 1 is APPLYVIZ_APPROVAL_KEY itself"),
        (CHECK, OF_WEB, ABOUT_APPROVALS, BOTH["APPLYVIZ_WEB_KEY"], "key 1 of 1 is APPLYVIZ_WEB_KEY itself"),
        (WORKER, OF_WORKER, ABOUT_APPROVALS, "a" * 64, "key 1 of 1 is too short or a default"),
        (CHECK, OF_WEB, ABOUT_SESSIONS, BOTH["SECRET_KEY"], "key 1 of 1 is SECRET_KEY itself"),
        (CHECK, OF_WEB, ABOUT_SESSIONS, "django-insecure-and-long-enough-for-a-key", "key 1 of 1 is too short or a"),
        (WEB, OF_WEB, ABOUT_SESSIONS, "changeme", "key 1 of 1 is too short or a default"),
    ],
)
def test_an_earlier_key_that_protects_nothing_is_refused_and_not_repeated(
    tmp_path: Path, words: tuple[str, ...], keys: dict[str, str], name: str, earlier: str, why: str
) -> None:
    (tmp_path / "earlier").write_text(f"{earlier}\n")

    status, said = start(words, tmp_path, {**keys, f"{name}_FILE": str(tmp_path / "earlier")})

    assert (status, said.count("\n"), earlier in said) == (1, 1, False), said
    assert said.startswith(f"applyviz is not configured: {name}: {why}")


def test_earlier_keys_may_be_none_or_several(tmp_path: Path) -> None:
    (tmp_path / "earlier").write_text(f"{EARLIER}\n{EARLIER[::-1]}\n")
    (tmp_path / "none").write_text("")
    files = {f"{ABOUT_APPROVALS}_FILE": str(tmp_path / "earlier"), f"{ABOUT_SESSIONS}_FILE": str(tmp_path / "none")}

    status, said = start(WEB, tmp_path, {**OF_WEB, **files})

    assert (status, said.startswith("started\n")) == (0, True), said


NOWHERE = "postgres://who:a-password@127.0.0.1:1/shop"


@pytest.mark.core(3)
@pytest.mark.parametrize(
    ("words", "keys", "named"),
    [
        (WEB, {**OF_WEB, "APPLYVIZ_WEB_KEY": ""}, "APPLYVIZ_WEB_KEY: it is not set"),
        (WEB, {**OF_WEB, "APPLYVIZ_SEALING_KEY": "applyviz"}, "APPLYVIZ_SEALING_KEY: not a sealing key"),
        (WEB, {**OF_WEB, "DATABASE_URL": "mysql://who:a-password@db.example/shop"}, "DATABASE_URL: expected"),
        (WORKER, {**OF_WORKER, "DATABASE_URL": "mysql://who:a-password@db.example/shop"}, "DATABASE_URL: expected"),
        (MIGRATE, {**OF_MIGRATE, "DATABASE_URL": "mysql://who:a-password@db.example/shop"}, "DATABASE_URL: expected"),
        (WORKER, {**OF_WORKER, "DATABASE_URL": "postgres://who:a-pass#word@db.example/x"}, "DATABASE_URL: expected"),
        (WEB, {**OF_WEB, "DATABASE_URL": "postgres://who:a-password@db.example"}, "DATABASE_URL: expected"),
        (WEB, {**OF_WEB, "DATABASE_URL": NOWHERE}, "DATABASE_URL: the database cannot be used"),
        (WORKER, {**OF_WORKER, "DATABASE_URL": NOWHERE}, "DATABASE_URL: the database cannot be used"),
        (MIGRATE, {**OF_MIGRATE, "DATABASE_URL": NOWHERE}, "DATABASE_URL: connection failed"),
        (WORKER, OF_WORKER, "DATABASE_URL: this database has no tables"),
        (WORKER, {**OF_WORKER, "SECRET_KEY": ""}, "SECRET_KEY: it is not set"),
        (BEAT_ITSELF, {"SECRET_KEY": ""}, "SECRET_KEY: it is not set"),
        (BEAT_ITSELF, {**OF_MIGRATE, "REDIS_URL": "a-password"}, "REDIS_URL: expected"),
        (WEB, {**OF_WEB, "REDIS_URL": "http://:a-password@x"}, "REDIS_URL: expected"),
        (WEB, {**OF_WEB, "REDIS_URL": "redis://:a-pass/word@x:6379/0"}, "REDIS_URL: expected"),
        (WORKER, {**OF_WORKER, "REDIS_URL": "redis://:a-pass#word@x:6379/0"}, "REDIS_URL: expected"),
        (BEAT_ITSELF, {**OF_MIGRATE, "REDIS_URL": "redis://:a-password@x:6379/first"}, "REDIS_URL: expected"),
        (BEAT_ITSELF, {"SECRET_KEY_FILE": sys.executable}, "SECRET_KEY_FILE: "),
        (WEB, {**OF_WEB, "ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS: it is not set"),
        (WORKER, {**OF_WORKER, "APPLYVIZ_PULSE_FILE": "/nowhere/pulse"}, "APPLYVIZ_PULSE_FILE: /nowhere/pulse cannot"),
        (BEAT_ITSELF, {**OF_MIGRATE, "APPLYVIZ_PULSE_FILE": "/proc/pulse"}, "APPLYVIZ_PULSE_FILE: /proc/pulse cannot"),
        (WORKER, {**OF_WORKER, "APPLYVIZ_PULSE_FILE": "/tmp"}, "APPLYVIZ_PULSE_FILE: /tmp cannot be written"),
        (WEB, {**OF_WEB, "TZ": "Nowhere/City"}, "TZ: expected a time zone"),
        (WORKER, {**OF_WORKER, "TZ": "../../etc"}, "TZ: expected a time zone"),
        (WORKER, {**OF_WORKER, "LOG_LEVEL": "chatty"}, "LOG_LEVEL: expected one of"),
        (WEB, {**OF_WEB, "APPLYVIZ_LEASE_SECONDS": "long"}, "APPLYVIZ_LEASE_SECONDS: expected a whole number"),
    ],
)
def test_a_process_that_is_not_configured_says_so_in_one_line(
    tmp_path: Path, words: tuple[str, ...], keys: dict[str, str], named: str
) -> None:
    status, said = start(words, tmp_path, keys)

    assert (status, said.count("\n"), named in said, "a-pass" in said) == (1, 1, True, False), said
