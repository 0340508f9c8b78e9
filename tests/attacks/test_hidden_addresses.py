"""The query of a signed address, or the path of a webhook, is a credential that no reader of the audit log sees."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, Preset
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.links import UnreadLinksError, hide_query
from applyviz.workflow.notifications import webhooks
from applyviz.workflow.plans import planner, presets, reviews
from applyviz.workflow.plans.presets import PresetDraft, UsedPreset
from tests.attacks.conftest import list_stored
from tests.attacks.test_identical_pages import World
from tests.attacks.test_password_fields import CANARY, find_shown
from tests.builders import make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
LINK = "https://files.example.org/{}.yaml?sig={}"
CHART = "https://charts.example.org/{}.tgz?token={}"


def write(name: str, credential: str) -> dict[str, str]:
    links = "\n".join(LINK.format(f"{name}-{n}", credential) for n in range(2))
    repository = f"https://app:{credential}@git.example.org/team/{name}.git"
    return {"links": links, "chart": CHART.format(name, credential), "namespace": name, "git_repository": repository}


@pytest.fixture
def preset(team: Team) -> Preset:
    root = make_person("root", Role.ADMINISTRATOR)
    draft = PresetDraft("files", "Files", options=write("first", f"{CANARY}-old"))
    made = presets.add_preset(draft, by=root)
    presets.edit_preset(
        made, PresetDraft("files", "Files", options=write("first", CANARY)), version=made.version, by=root
    )
    made.refresh_from_db()
    return made


def test_what_differs_from_a_preset_shows_no_query(team: Team, preset: Preset, step: int) -> None:
    used = UsedPreset(preset, presets.find_changes(preset, write("second", f"{CANARY}-new")))
    review = reviews.create_review(
        by=team.alice,
        title="Change",
        reason="",
        ticket="",
        cluster=team.cluster,
        options=ApplyOptions(),
        bundle=SourceBundle((BundledFile("a.yaml", config_map(a="1").encode()),)),
        preset=used,
    )
    planner.make_plan(review.plans.get().pk)
    plan = review.plans.get()

    assert [change["used"] for change in review.preset_changes if change["field"] == "links"] == [
        "https://files.example.org/second-0.yaml\nhttps://files.example.org/second-1.yaml"
    ]
    client = Client()
    client.force_login(team.alice)
    record = client.get(reverse("reviews:show-record", args=[review.number, plan.number])).content.decode()
    assert ("second-0.yaml" in record, CANARY in record) == (True, False)
    assert find_shown(World(team, [plan, plan, plan]), 0, step) == []


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"https://a.example.org/x?sig={CANARY}#y", "https://a.example.org/x"),
        (f"https://{CANARY}@a.example.org/x", "https://a.example.org/x"),
        (f"ssh://git:{CANARY}@a.example.org/x", "ssh://a.example.org/x"),
        ("ssh://git@a.example.org:22/x", "ssh://git@a.example.org:22/x"),
        ("https://[", ""),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_credential(address: str, shown: str) -> None:
    assert hide_query(address) == shown


def test_a_link_that_cannot_be_fetched_is_named_without_its_query() -> None:
    error = UnreadLinksError((LINK.format("a", CANARY),), {0: "it answered 404"})

    assert str(error) == "https://files.example.org/a.yaml: it answered 404"


def test_the_audit_log_has_no_query_and_every_change(preset: Preset) -> None:
    """Administrators read the preset itself; other readers of the audit log do not."""
    found = [where for where, text in list_stored() if CANARY in text]
    changes = [
        set(entry.detail["changes"])
        for entry in AuditEntry.objects.filter(action=AuditAction.PRESET_CHANGED).order_by("pk")
    ]

    assert set(found) == {"Preset.options"}
    assert {"links", "chart"} == changes[-1] & {"links", "chart", "namespace"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR, Role.ADMINISTRATOR])
def test_no_reader_of_the_audit_log_sees_the_address_of_a_webhook(team: Team, role: Role) -> None:
    """The address lets its reader post to many chats; the settings show only the host."""
    root, reader = make_person("root", Role.ADMINISTRATOR), make_person("reader", role)
    given = {"name": "Chat", "events": [], "secret": "a-secret-of-the-webhook"}
    address = f"https://hooks.example.org/services/{CANARY}/{{}}?key={CANARY}"
    webhook = webhooks.add_webhook(url=address.format(1), by=root, **given)
    webhooks.edit_webhook(webhook, url=address.format(2), is_enabled=True, by=root, **given)
    webhooks.try_webhook(webhook, by=root)
    entries = AuditEntry.objects.filter(action=AuditAction.WEBHOOK_CHANGED)
    client = Client()
    client.force_login(reader)

    pages = ["/history/", "/history/?text=hooks", *(f"/history/{one.pk}/" for one in entries), "/settings/webhooks/"]
    answers = [client.get(address) for address in (*pages, "/history/export/jsonl/")]

    shown = [b"".join(one) for one in answers]
    assert any(b"hooks.example.org" in text for text in shown)
    assert not any(CANARY[:8].encode() in text for text in shown)
    assert {where for where, text in list_stored() if CANARY[:8] in text} == {"Webhook.url"}
