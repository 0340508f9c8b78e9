"""Every address that changes something refuses what another site could make a browser send, and what it frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.architecture.test_web import SAMPLES

pytestmark = pytest.mark.django_db
FOREIGN = "https://elsewhere.example"
# A bearer token opens these, or a worker verifies a signature, and no cookie does: no other site can use them.
BY_TOKEN = ("sandboxes/", "api/v1/", "push/")
# Every address that takes a POST of a person, by name; a new one is added here once it is tried below.
WRITING = {
    "login", "login-demo", "logout", "reauthenticate", "set-theme", "hide-first-steps",
    "ask", "ask-set", "ask-channel", "add-review", "check-source", "replan", "close-review",
    "verify-plan", "edit-comment", "resolve-comment", "add-comment", "acknowledge", "withdraw-acknowledgment",
    "confirm-plan", "withdraw-request", "emergency-apply", "revoke-approval", "apply-plan", "resolve-conflict",
    "propose-rule", "resolve-everywhere", "undo-resolution", "replace-manifests", "cancel-run", "undo-run",
    "verify-chain", "mark-viewed", "acknowledge-all",
    "list-retention", "end-retention", "add-cluster", "scan-cluster", "adopt-object", "agree-rule",
    "decline-rule", "revoke-rule", "read-all", "edit-choices", "open-notification", "add-identity",
    "end-identity", "add-token", "add-account", "revoke-token", "add-webhook", "show-webhook", "delete-webhook",
    "try-webhook", "deliver-again", "add-repository", "show-repository", "try-repository", "remove-repository",
    "add-policy", "edit-policy", "archive-policy", "add-person",
    "grant-to-person", "set-active", "link-accounts", "unlink-account",
    "set-mail", "end-grant", "add-team", "add-member", "end-member",
    "grant-to-team", "archive-team", "claim", "change-password", "end-sessions", "invite-again", "confirm-pending",
    "decline-pending", "compare-file", "replace-credential", "rename-cluster", "pause-cluster",
    "resume-cluster", "archive-cluster", "restore-cluster", "set-masking", "set-simulation",
    "schedule-start", "cancel-start", "hand-over", "add-own-context", "retry-run", "choose-object", "plan-others",
    "replace-objects", "adopt-objects", "choose-addon",
    "take-fields", "move-ownership", "edit-last-applied", "add-preset", "show-preset", "archive-preset",
    "follow-branch", "request-reviewers", "add-repository-push", "rotate-repository-push", "remove-repository-push",
    "collected-comments", "drop-comment",
    "link-person-identity", "verify-person-identity", "remove-person-identity",
    "claim-identity", "remove-identity", "verify-identity",
}  # fmt: skip


def views(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str, Callable[..., Any]]]:
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from views(entry.url_patterns, route)
        elif isinstance(entry, URLPattern):
            yield route, entry.name or "", entry.callback


def paths() -> list[tuple[str, str]]:
    return [
        (name, "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES[found[1] or "str"], route))
        for route, name, _ in views()
        if not route.startswith(BY_TOKEN)
    ]


@pytest.fixture
def browser() -> Client:
    """The browser of somebody who may do everything, with the checks of a real one."""
    found = Client(enforce_csrf_checks=True)
    found.force_login(User.objects.create_superuser("root"))
    return found


@pytest.fixture
def proven(browser) -> tuple[Client, str]:
    """The same, and the token that its own pages hold."""
    page = browser.get("/reviews/new/").content.decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found
    return browser, found[1]


def test_only_what_a_token_opens_is_spared_the_check():
    spared = {route for route, _, view in views() if getattr(view, "csrf_exempt", False)}

    assert {route for route in spared if not route.startswith(BY_TOKEN)} == set()
    assert spared == {route for route, _, _ in views() if route.startswith(BY_TOKEN)}


def test_every_writing_address_is_known(proven):
    browser, token = proven
    taking = set()
    for name, path in paths():
        if name != "logout" and browser.post(path, {"csrfmiddlewaretoken": token}).status_code != 405:
            taking.add(name)

    assert taking | {"logout"} == WRITING


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_nothing_is_taken_without_the_token_or_from_elsewhere(proven, step):
    """Each address is tried in one of the five ways, the next in the next; in all of them when the step is 1."""
    browser, token = proven
    good = {"csrfmiddlewaretoken": token}
    ways = (
        ("no token", {}, {}),
        ("guessed token", {"csrfmiddlewaretoken": "x" * 64}, {}),
        ("foreign origin", good, {"HTTP_ORIGIN": FOREIGN}),
        ("no origin told", good, {"HTTP_ORIGIN": "null"}),
        ("foreign referrer", good, {"HTTP_REFERER": f"{FOREIGN}/x", "wsgi.url_scheme": "https"}),
    )
    writing = sorted((name, path) for name, path in paths() if name in WRITING)
    answers = {
        (name, how): browser.post(path, given, **headers).status_code
        for number, (name, path) in enumerate(writing)
        for how, given, headers in ways[number % step :: step]
    }

    assert {key: status for key, status in answers.items() if status != 403} == {}
    assert len(answers) == len(ways) // step * len(WRITING)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_reading_an_address_changes_nothing_and_is_never_framed(browser, step):
    answers = {name: browser.get(path) for name, path in sorted(paths())[::step] if name != "logout"}

    unframed = {
        name: (
            answer.headers.get("X-Frame-Options"),
            "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"],
        )
        for name, answer in answers.items()
    }
    assert {name: found for name, found in unframed.items() if found != ("DENY", True)} == {}
    assert browser.get("/logout/").status_code == 405


def test_cookies_go_to_no_other_site(settings):
    assert (settings.SESSION_COOKIE_SAMESITE, settings.CSRF_COOKIE_SAMESITE) == ("Strict", "Strict")
    assert (settings.SESSION_COOKIE_HTTPONLY, settings.CSRF_COOKIE_HTTPONLY) == (True, True)
