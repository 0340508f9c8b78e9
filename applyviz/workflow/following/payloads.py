"""Deliveries of GitHub, GitLab and Gitea: whether the host signed them, and what they say of a push. Pure.

Rules: GitHub and Gitea sign the body with HMAC-SHA256 under the secret (https://docs.github.com/webhooks, header
X-Hub-Signature-256; https://docs.gitea.com/usage/webhooks, header X-Gitea-Signature). GitLab sends the secret itself
in X-Gitlab-Token, and an Idempotency-Key that its retries repeat
(https://docs.gitlab.com/user/project/integrations/webhooks). All comparisons take constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.git_enums import ForgeKind
from applyviz.records.keyed_hashes import is_same

HEADERS = (
    "X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery", "X-Gitlab-Token", "X-Gitlab-Event",
    "X-Gitlab-Event-UUID", "Idempotency-Key", "X-Gitea-Signature", "X-Gitea-Event", "X-Gitea-Delivery", "Content-Type",
)  # fmt: skip
"""The headers that are kept of a delivery."""
_IDENTIFIERS = {
    ForgeKind.GITHUB: ("X-GitHub-Delivery",),
    ForgeKind.GITLAB: ("Idempotency-Key", "X-Gitlab-Event-UUID"),
    ForgeKind.GITEA: ("X-Gitea-Delivery",),
}
_EVENTS = {
    ForgeKind.GITHUB: "X-GitHub-Event",
    ForgeKind.GITLAB: "X-Gitlab-Event",
    ForgeKind.GITEA: "X-Gitea-Event",
}
_PUSHES = {ForgeKind.GITHUB: "push", ForgeKind.GITLAB: "Push Hook", ForgeKind.GITEA: "push"}
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_UNSTORED = re.compile("[\0\ud800-\udfff]")
_FORM = "application/x-www-form-urlencoded"
_BRANCH = "refs/heads/"


class PayloadError(Exception):
    """A delivery that is not a push, or cannot be read; `is_expected`: the host sends such deliveries."""

    def __init__(self, text: str, *, is_expected: bool = False) -> None:
        super().__init__(text)
        self.is_expected = is_expected


class PushEvent(Struct, frozen=True):
    """A push to one branch; `before` is "" for a new branch, `path` that of the repository at its host.

    - `pusher` is the name for people, `login` the account at the host, `email` its address; "" if it is unknown.
    """

    path: str
    branch: str
    before: str
    after: str
    pusher: str
    login: str
    email: str


def find_identifier(forge: ForgeKind, headers: Mapping[str, str]) -> str:
    """Return the id that the host gives a delivery; "" without one."""
    return next((headers[name][:100] for name in _IDENTIFIERS[forge] if headers.get(name)), "")


def is_genuine(forge: ForgeKind, headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether a delivery was signed with the secret."""
    if forge is ForgeKind.GITLAB:
        return is_same(secret, headers.get("X-Gitlab-Token", ""))
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if forge is ForgeKind.GITHUB:
        return is_same(f"sha256={made}", headers.get("X-Hub-Signature-256", ""))
    return is_same(made, headers.get("X-Gitea-Signature", ""))


def _read_json(headers: Mapping[str, str], body: bytes) -> JSONObject:
    try:
        text = body.decode()
        if headers.get("Content-Type", "").partition(";")[0].strip().lower() == _FORM:
            text = parse_qs(text, max_num_fields=10).get("payload", [""])[0]
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PayloadError("the body is not a JSON object")
    return found


def _text(found: JSONValue, *names: str) -> str:
    """Return a text within objects; "" if it is missing, of another type, or no text that a database stores."""
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) and not _UNSTORED.search(found) else ""


def _read_commit(found: JSONObject, name: str) -> str:
    text = _text(found, name)
    if not _COMMIT.match(text):
        raise PayloadError(f"{name} is not a commit id")
    return "" if not text.strip("0") else text


def _read_names(forge: ForgeKind, found: JSONObject) -> tuple[str, str, str, str]:
    """Return the path of the repository, and name, account and address of the pusher."""
    if forge is ForgeKind.GITLAB:
        login = _text(found, "user_username")
        email = _text(found, "user_email")
        name = _text(found, "user_name") or login
        return _text(found, "project", "path_with_namespace"), name, login, email if "@" in email else ""
    login = _text(found, "sender", "login") or _text(found, "pusher", "name")
    if forge is ForgeKind.GITEA:
        login = _text(found, "pusher", "login") or _text(found, "pusher", "username") or login
    return _text(found, "repository", "full_name"), login, login, _text(found, "pusher", "email")


def read_push(forge: ForgeKind, headers: Mapping[str, str], body: bytes) -> PushEvent:
    """Return the push that a genuine delivery reports; raises `PayloadError` for anything else."""
    event = headers.get(_EVENTS[forge], "")
    if event != _PUSHES[forge]:
        raise PayloadError(f"not a push, but the event {event[:60] or 'without a name'}", is_expected=True)
    found = _read_json(headers, body)
    ref = _text(found, "ref")
    if not ref:
        raise PayloadError("the push names no ref")
    if not ref.startswith(_BRANCH):
        raise PayloadError("not a push to a branch", is_expected=True)
    before, after = _read_commit(found, "before"), _read_commit(found, "after")
    if not after:
        raise PayloadError("the branch was deleted", is_expected=True)
    path, name, login, email = _read_names(forge, found)
    return PushEvent(path, ref.removeprefix(_BRANCH)[:250], before, after, name[:200], login[:200], email[:320])
