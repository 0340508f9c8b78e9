"""Presets, channels, comments and requested reviewers open no data of other teams and no internal address."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.channels.reading import name_file
from applyviz.records.enums import Role, TokenScope
from applyviz.records.models import Comment, Plan
from applyviz.workflow.approvals import comments
from applyviz.workflow.people import teams, tokens
from applyviz.workflow.plans import presets
from tests.builders import make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
NAME = "Ops canary"


@pytest.fixture
def team_preset(team: Team) -> User:
    """A preset of the team ops; the author mallory is not in it."""
    root = make_person("root", Role.ADMINISTRATOR)
    ops = teams.create_team(slug="ops", name="Ops", by=root)
    presets.add_preset(presets.PresetDraft(slug="ops-canary", name=NAME, team=ops), by=root)
    return make_person("mallory", Role.AUTHOR)


def read(answer: object) -> str:
    """An answer without what is random, and without the name that was asked for."""
    text = answer.content.decode()  # type: ignore[attr-defined]
    return re.sub(r"ops-canary|no-such-one|[0-9a-f]{12,}|[A-Za-z0-9]{32,}", "#", text)


def test_preset_of_another_team_looks_like_none(team_preset: User) -> None:
    client = Client()
    client.force_login(team_preset)
    token = tokens.make_token(by=team_preset, account=team_preset, name="ci", scope=TokenScope.PLAN, days=7)[1]
    file = {"name": "a.yaml", "content": config_map(a="1")}

    pages, answers = [], []
    for slug in ("ops-canary", "no-such-one"):
        pages.append(client.get(reverse("reviews:add-review"), {"preset": slug}))
        answers.append(
            client.post(
                reverse("api:add-review"),
                {"preset": slug, "files": [file]},
                content_type="application/json",
                headers={"Authorization": f"Bearer {token}"},
            )
        )
    assert [NAME in one.content.decode() for one in (*pages, *answers)] == [False] * 4
    assert pages[0].status_code == pages[1].status_code
    assert answers[0].status_code == answers[1].status_code == 422
    assert read(answers[0]) == read(answers[1])


@pytest.mark.parametrize(
    "manifest", ["../../etc/passwd", "a/../../../b.yaml", "/etc/passwd", "..", "../" * 60 + "x", "./a/../b.yaml"]
)
def test_manifest_of_a_channel_is_named_inside_its_source(manifest: str) -> None:
    name = name_file("deploy/channel.yaml", manifest)

    assert ".." not in name.split("/")


TEXTS = [
    "<img src=x onerror=alert(1)>",
    "[x](JaVaScRiPt:alert(1)) [y](data:text/html,x)",
    '[a](https://a.example/"onmouseover="alert(1))',
    "`</code><script>alert(1)</script>`",
    "<svg/onload=alert(1)> &lt;script&gt; ]]> --><script>",
    "@bob @root <a href=/approve>approve</a>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_comment_writes_no_markup_of_its_own(team: Team, text: str) -> None:
    plan = team.plan(config_map(a="1"))
    comments.add_comment(plan, by=team.bob, content=comments.check_content(text))
    client = Client()
    client.force_login(team.alice)

    page = client.get(reverse("reviews:show-activity", args=[plan.review.number, plan.number])).content.decode()
    shown = page.partition("<main")[2]
    assert re.findall(r"<(img|svg|script)\b[^>]*(?:src=x|onload|onerror|>alert)", shown) == []
    assert re.findall(r"<[^>]*\son[a-z]+=", shown) == []
    assert re.findall(r"(?i)<a\b[^>]*href=[\"']?(?:javascript|data|/approve)", shown) == []


def test_comment_of_another_is_edited_by_no_address(team: Team) -> None:
    plan: Plan = team.plan(config_map(a="1"))
    comment = comments.add_comment(plan, by=team.bob, content=comments.check_content("I object"))
    other = team.plan(config_map("second", a="1"))
    client = Client()
    client.force_login(team.alice)

    for number in (plan.review.number, other.review.number):
        address = reverse("reviews:edit-comment", args=[number, comment.pk])
        assert client.post(address, {"text": "I agree", "by": team.bob.pk}).status_code in (403, 404)
    assert Comment.objects.get().text == "I object"
