"""Actions that cannot be undone ask first: the button is in a section that is closed until a person opens it."""

from pathlib import Path

import pytest
from django.urls import reverse

from applyviz.records.models import PushWebhook, RepositoryCredential, Webhook
from tests.builders import make_policy
from tests.web import reading, rows
from tests.web.settings.test_presets import OPTIONS

pytestmark = pytest.mark.django_db
TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "settings"


def make_all(browser):
    """Something to end of every sort, by the page that shows it: its key, its end, the button, and what then holds."""
    rows.make_cluster()
    make_policy("old")
    browser.post(reverse("settings:add-team"), {"slug": "sre", "name": "Reliability"})
    browser.post(reverse("settings:add-preset"), OPTIONS)
    browser.post(reverse("settings:add-webhook"), {"name": "chat", "url": "https://hooks.example/", "secret": "x" * 32})
    browser.post(reverse("settings:add-repository-push"), {"repository": "https://git.example/a/b", "forge": "github"})
    browser.post(
        reverse("settings:add-repository"),
        {"address": "https://git.example/a/b", "team": "*", "secret": "glpat-1234567890-verysecret"},
    )
    credential, webhook, push = (kind.objects.get().pk for kind in (RepositoryCredential, Webhook, PushWebhook))
    return {
        "show-policy": ("old", "archive-policy", "Archive policy", "Affected plans must be re-planned."),
        "show-team": ("sre", "archive-team", "Archive team", "Its members lose the roles of the team"),
        "show-preset": ("shop", "archive-preset", "Archive preset", "It is no longer offered."),
        "show-webhook": (webhook, "delete-webhook", "Delete webhook", "No event is sent to it any more"),
        "show-repository-push": (push, "remove-repository-push", "Delete webhook", "pushes to this repository"),
        "show-repository": (credential, "remove-repository", "Remove credential", "Its secret is deleted."),
    }


def test_nothing_ends_without_asking_first(as_dana):
    for name, (key, end, act, effect) in make_all(as_dana).items():
        page = reading.read(as_dana, reverse(f"settings:{name}", args=[key]))
        ending = [
            (form, above)
            for form, above in reading.walk(page)
            if reading.attribute(form, "action") == reverse(f"settings:{end}", args=[key])
        ]

        [(form, above)] = ending
        assert (above[-1].name, reading.attribute(above[-1], "open")) == ("details", None), name
        assert reading.text_of(reading.find_all(above[-1], "summary")[0]) == f"{act}…"
        assert [reading.text_of(button) for button in reading.find_all(form, "button")] == [act]
        assert effect in reading.text_of(form)
        assert as_dana.post(reverse(f"settings:{end}", args=[key])).status_code == 302


def test_no_other_page_of_the_settings_has_such_a_button():
    found = (path for path in TEMPLATES.glob("*.html") if "button danger" in path.read_text())

    assert [path.name for path in found] == ["_asks_first.html"]
