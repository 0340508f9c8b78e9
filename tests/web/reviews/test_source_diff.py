"""The manifests of a source that changed since its last run: on a page, and beside the plan on the Overview."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.source_runs.same_source import name_links
from tests.following import Stage, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.stories import config_map, secret

OLD = config_map(name="old", a="1")


def write(stage: Stage, **files: str) -> str:
    return stage.repository.commit({f"deploy/{name}.yaml": text.encode() for name, text in files.items()})


def read(client: Client, plan: Plan, **headers: str) -> str:
    address = reverse("reviews:show-source-changes", args=[plan.review.number, plan.number])
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode().replace("<wbr>", ""))).split())


@pytest.fixture
def client(stage: Stage) -> Client:
    found = Client()
    found.force_login(stage.team.bob)
    return found


@pytest.fixture
def plans(stage: Stage) -> tuple[Plan, Plan]:
    """The plan of a run, and that of a commit that changes, adds and drops an object and a password."""
    write(stage, app=f"{config_map(a='1', b='same')}---\n{secret(password='one')}", old=OLD)
    first = stage.open().plans.get()
    stage.team.work(stage.team.start(first))
    write(stage, app=f"{config_map(a='2', b='same')}---\n{secret(password='two')}", new=config_map(name="new", c="3"))
    return first, stage.open(title="Next").plans.get()


def test_changed_added_and_dropped_manifests_are_shown_by_file(client: Client, plans: tuple[Plan, Plan]) -> None:
    shown = read(client, plans[1])

    app, new, old = (shown.index(f"deploy/{name}.yaml") for name in ("app", "new", "old"))
    assert app < new < old
    assert re.search(r'a: "? ?1.*a: "? ?2', shown[app:new])
    assert "new in the source" in shown[new:old]
    assert 'c: "3"' in shown[new:old]
    assert "no longer in the source" in shown[old:]


def test_secret_is_masked_and_not_compared(client: Client, plans: tuple[Plan, Plan]) -> None:
    shown = read(client, plans[1])

    assert "Secret/" not in shown
    assert "Masked values look equal here." in shown
    for text in ("two", "dHdv", "b25l"):
        assert text not in shown


@pytest.mark.long
def test_overview_loads_it_beside_the_plan(client: Client, plans: tuple[Plan, Plan]) -> None:
    plan = plans[1]
    address = reverse("reviews:show-source-changes", args=[plan.review.number, plan.number])
    overview = client.get(reverse("reviews:show-overview", args=[plan.review.number, plan.number])).content.decode()

    assert f'hx-get="{address}" hx-trigger="load"' in overview
    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "new in the source" in part


@pytest.mark.long
def test_plan_without_an_earlier_run_has_no_such_page(client: Client, plans: tuple[Plan, Plan]) -> None:
    first = plans[0]

    assert client.get(reverse("reviews:show-source-changes", args=[first.review.number, 1])).status_code == 404


@pytest.mark.long
def test_same_manifests_are_said_to_be_the_same(client: Client, stage: Stage, plans: tuple[Plan, Plan]) -> None:
    stage.team.work(stage.team.start(plans[1]))
    again = stage.open(title="Again").plans.get()

    shown = read(client, again)
    assert "The manifests have the same content as in that run." in shown
    assert "Masked values look equal here." in shown


def plan_of(stage: Stage, bundle: SourceBundle, title: str = "Shop") -> Plan:
    """The finished plan of a review of these files."""
    review = reviews.create_review(
        by=stage.team.alice,
        title=title,
        reason="",
        ticket="",
        cluster=stage.team.cluster,
        options=ApplyOptions(),
        bundle=bundle,
    )
    return stage.calculate(review)


def rendered(color: str, version: str, *more: BundledFile, release: str = "web") -> SourceBundle:
    """The frozen files of a chart with one template."""
    facts = {"from": "helm", "chart": "shop", "chart_version": version, "release": release, "namespace": "default"}
    name = "shop/templates/app.yaml"
    file = BundledFile(name, config_map(color=color).encode(), {**facts, "template": name, "kube_version": "v1.36.3"})
    return SourceBundle.of((file, *more))


def linked(value: str, *addresses: str) -> SourceBundle:
    """The frozen files of links."""
    return SourceBundle.of(
        BundledFile(f"{n}.yaml", config_map(f"of-{n}", a=value).encode(), {"from": "link", "url": address})
        for n, address in enumerate(addresses)
    )


def overview(client: Client, plan: Plan) -> str:
    page = client.get(reverse("reviews:show-overview", args=[plan.review.number, plan.number])).content.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.replace("<wbr>", ""))).split())


def test_chart_is_compared_with_the_last_run_of_its_release(client: Client, stage: Stage) -> None:
    upload = BundledFile("upload.yaml", config_map("of-upload", a="1").encode(), {"from": "upload"})
    stage.team.work(stage.team.start(plan_of(stage, rendered("blue", "1.2.3", upload))))
    plan = plan_of(stage, rendered("red", "1.3.0"), "Next")

    shown, found = overview(client, plan), read(client, plan)

    assert "Changed in the source since run 1" in shown
    assert "chart shop, release web" in shown
    assert "Version 1.2.3 → becomes 1.3.0" in shown
    assert "Kubernetes v1.36.3 →" not in shown  # the same as then
    assert re.search(r'color: "? ?blue.*color: "? ?red', found)
    assert "of-upload" not in found  # it came from another source
    another = plan_of(stage, rendered("red", "1.3.0", release="api"), "Another release")
    assert "Changed in the source" not in overview(client, another)


def test_links_are_compared_whatever_version_they_name(client: Client, stage: Stage) -> None:
    first = "https://h.example/releases/download/v{}/app.yaml", "https://raw.example/team/shop/{}/more.yaml"
    run = plan_of(stage, linked("1", first[0].format("1.2.3"), first[1].format("a" * 40)))
    stage.team.work(stage.team.start(run))
    plan = plan_of(stage, linked("2", first[0].format("1.3.0-rc.1"), first[1].format("b" * 40)), "Next")

    shown = overview(client, plan)

    assert "2 links" in shown
    assert "Link https://h.example/releases/download/v1.2.3/app.yaml → becomes" in shown
    assert re.search(r'a: "? ?1.*a: "? ?2', read(client, plan))
    elsewhere = plan_of(stage, linked("2", "https://h.example/releases/download/v1.3.0/other.yaml"), "Another")
    assert "Changed in the source" not in overview(client, elsewhere)


@pytest.mark.long
def test_each_source_of_a_mix_has_its_own_changes(client: Client, stage: Stage) -> None:
    def mix(color: str, value: str) -> SourceBundle:
        return rendered(color, "1.2.3", *linked(value, "https://h.example/a.yaml").files)

    stage.team.work(stage.team.start(plan_of(stage, mix("blue", "1"))))
    plan = plan_of(stage, mix("red", "2"), "Next")
    address = reverse("reviews:show-source-changes", args=[plan.review.number, plan.number])
    page = client.get(reverse("reviews:show-overview", args=[plan.review.number, plan.number])).content.decode()

    assert f'hx-get="{address}"' in page
    assert f'hx-get="{address}?of=links"' in page
    assert "of-0" not in read(client, plan)
    links = client.get(address, {"of": "links"}).content.decode()
    assert "of-0" in links
    assert "ConfigMap/settings" not in links
    assert client.get(address, {"of": "git"}).status_code == 404
    assert client.get(address, {"of": "nothing"}).status_code == 200  # an address with a typo shows the first


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://h/v1.2.3/a.yaml", "https://h/v1.10.0/a.yaml", True),
        ("https://h/a-1.2.3.yaml", "https://h/a-1.3.0-rc.1.yaml", True),
        ("https://h/a-1.2.3.yaml", "https://h/b-1.2.3.yaml", False),
        ("https://10.0.0.1/a.yaml", "https://10.0.0.2/a.yaml", False),
        ("https://h/release-1.30/a.yaml", "https://h/release-1.31/a.yaml", True),
        (f"https://h/{'0' * 40}/a.yaml", f"https://h/{'1' * 40}/a.yaml", True),
        ("https://h/one/a.yaml", "https://h/two/a.yaml", False),
        ("https://h/v1/a.yaml", "https://h/v2/a.yaml", False),
    ],
)
def test_versions_in_addresses(one: str, other: str, is_same: bool) -> None:
    assert (name_links([one]) == name_links([other])) is is_same
