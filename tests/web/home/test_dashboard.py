"""Home as a dashboard: what is urgent comes first, and each cluster has a picture of its last 30 days."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from applyviz import clock
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import FindingSort, Role, RunState
from applyviz.records.models import ApplyRun, Cluster, ClusterScan, LiveFinding, Review
from applyviz.web.clusters.pages.activity import present_activity
from applyviz.web.clusters.pages.findings import present_drifted
from applyviz.workflow.policies.windows import Freeze, Window
from tests.builders import grant_role, make_policy
from tests.web import builders, reading, rows


@pytest.fixture
def change():
    return replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())


def find(cluster, sort, days, *, gone=None, fields=(".spec.replicas", ".spec.paused")):
    now = clock.now()
    return LiveFinding.objects.create(
        cluster=cluster,
        key=f"{sort}{days}{gone}",
        sort=sort,
        group="apps",
        kind="Deployment",
        namespace="shop",
        name=f"web-{sort}",
        manager="kubectl-set",
        fields=[{"path": path} for path in fields] if sort == FindingSort.DRIFTED else list(fields),
        first_seen=now - timedelta(days=days),
        last_seen=now,
        changed_at=now - timedelta(days=days) if sort == FindingSort.CHANGED else None,
        gone_at=None if gone is None else now - timedelta(days=gone),
    )


@pytest.fixture
def busy(alice, bob, change):
    """A cluster with runs, a failed one, changes outside review and drift."""
    now = clock.now()
    for days, state in ((1, RunState.APPLIED), (5, RunState.FAILED), (5, RunState.APPLIED), (40, RunState.FAILED)):
        run = rows.make_run(rows.make_plan(alice, [change]), bob, state=state)
        ApplyRun.objects.filter(pk=run.pk).update(created_at=now - timedelta(days=days))
        Review.objects.filter(pk=run.plan.review_id).update(state="applied")
    cluster = Cluster.objects.get()
    find(cluster, FindingSort.CHANGED, 3)
    find(cluster, FindingSort.DRIFTED, 12)
    find(cluster, FindingSort.DRIFTED, 25, gone=20)
    ClusterScan.objects.create(cluster=cluster, created_at=now, finished_at=now)
    return cluster


def freeze(first: int, last: int) -> Freeze:
    start, end = (clock.now() + timedelta(days=days) for days in (first, last))
    return Freeze(start.strftime("%Y-%m-%dT%H:%M"), end.strftime("%Y-%m-%dT%H:%M"), "UTC", "Holidays")


def test_strip_says_its_numbers_and_draws_them(busy, viewer):
    strip = present_activity([busy], for_user=viewer)[busy.pk]

    facts = "3 runs, 1 failed, 1 change outside review, 2 drifted fields now"
    assert strip.label == f"{busy.name}, last 30 days: {facts}"
    assert (len(strip.runs), len(strip.failed), len(strip.outside), strip.freezes) == (2, 1, 1, ())
    assert len(strip.drift.split()) == 30


def test_freeze_is_shaded_for_its_days(busy, viewer):
    make_policy(freezes=(freeze(-8, 4),))

    (shade,) = present_activity([busy], for_user=viewer)[busy.pk].freezes

    assert (shade.title, shade.x) == ("Holidays", "70.00%")


def test_nobody_sees_the_activity_of_what_they_may_not_see(busy):
    person = User.objects.create_user("elsewhere")
    grant_role(person, Role.VIEWER, cluster="another")
    strip = present_activity([busy], for_user=person)[busy.pk]

    assert (strip.runs, strip.outside, strip.drift) == ((), (), "")


def test_home_names_the_objects_that_differ(busy, viewer):
    key = {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}
    LiveFinding.objects.filter(gone_at=None).update(**key)
    LiveFinding.objects.filter(sort=FindingSort.CHANGED).update(manager="kubectl-set", fields=["spec.image"])
    sides = {"path": "spec.image", "promised": "shop/web:1.4.2", "live": "shop/web:1.4.3-hotfix"}
    LiveFinding.objects.filter(sort=FindingSort.DRIFTED).update(fields=[sides])

    (row,) = present_drifted(for_user=viewer)

    assert row.named == ("Deployment/web, by kubectl-set, 1.4.2 → 1.4.3-hotfix",)
    LiveFinding.objects.filter(sort=FindingSort.CHANGED).update(fields=["spec.image", "spec.replicas"])
    assert present_drifted(for_user=viewer)[0].named == ("Deployment/web, by kubectl-set, 2 fields",)


def test_home_counts_what_is_too_much_to_name(busy, viewer):
    for number in range(4):
        find(busy, FindingSort.MISSING, number)

    assert present_drifted(for_user=viewer)[0].named == ()


@pytest.fixture
def viewer(as_viewer):
    return User.objects.get(pk=as_viewer.session["_auth_user_id"])


def test_clusters_are_on_home_with_health_and_windows(as_viewer, busy):
    page = reading.read(as_viewer, "/")
    text = reading.text_of(page)

    assert "1 drifted · 1 unreviewed" in text
    assert "Any time No windows or freezes".lower() in text.lower()
    assert [reading.attribute(e, "role") for e in reading.find_all(page, "svg") if reading.attribute(e, "role")] == [
        "img"
    ]


@pytest.mark.parametrize(
    ("days", "paused", "text"),
    [
        (None, False, "Now The change window is open"),
        ((-9, -8), False, "Any time No freeze at the moment"),
        ((-1, 90), False, "Not now Changes are frozen until"),
        ((-9, -8), True, "Not now Until an administrator resumes it"),
    ],
)
@pytest.mark.parametrize("clusters", [1, 13])
def test_clusters_say_whether_changes_may_run_now(as_viewer, busy, days, paused, text, clusters):
    daily = Window(tuple(range(7)), "00:00", "00:00")
    make_policy(cluster=busy.slug, **({"freezes": (freeze(*days),)} if days else {"windows": (daily,)}))
    Cluster.objects.filter(pk=busy.pk).update(paused_at=clock.now() if paused else None)
    for number in range(clusters - 1):
        Cluster.objects.create(slug=f"more-{number}", name=f"More {number}", kind="live", created_at=clock.now())

    assert text.lower() in reading.text_of(reading.read(as_viewer, "/")).lower()


def test_more_than_twelve_clusters_are_a_table_with_sparklines(as_viewer, busy):
    for number in range(12):
        Cluster.objects.create(slug=f"more-{number}", name=f"More {number}", kind="live", created_at=clock.now())

    page = reading.read(as_viewer, "/")
    (table,) = (e for e in reading.find_all(page, "table") if "cluster-table" in (reading.attribute(e, "class") or ""))

    assert len(reading.find_all(table, "svg")) == 13
    assert {reading.attribute(svg, "width") for svg in reading.find_all(table, "svg")} == {"120"}
    labels = [reading.attribute(svg, "aria-label") or "" for svg in reading.find_all(table, "svg")]
    assert any(label.startswith(f"{busy.name}, last 30 days: 3 runs") for label in labels)


@pytest.mark.parametrize(("problem", "is_counted"), [("", True), ("no answer", False), (None, False)])
@pytest.mark.parametrize("clusters", [1, 13])
def test_what_no_scan_could_count_is_not_said_to_be_none(as_viewer, busy, clusters, problem, is_counted):
    new = rows.make_cluster("new")
    for number in range(clusters - 1):
        rows.make_cluster(f"cluster-{number:02}")
    if problem is not None:
        ClusterScan.objects.create(cluster=new, created_at=clock.now(), finished_at=clock.now(), problem=problem)

    page = reading.read(as_viewer, "/")

    listed = [reading.text_of(e) for e in (*reading.find_all(page, "li"), *reading.find_all(page, "tr"))]
    [line] = [text for text in listed if text.startswith("New ")]

    assert ("0 drifted" in line or " 0 0" in line) == is_counted
    assert (" \u2013 \u2013" in line) == (clusters > 1 and not is_counted)


@pytest.mark.parametrize(("clusters", "is_cut"), [(15, False), (16, True)])
def test_of_many_clusters_the_first_are_listed_and_all_are_a_link_away(as_viewer, busy, clusters, is_cut):
    for number in range(1, clusters):
        rows.make_cluster(f"cluster-{number:02}")

    page = reading.read(as_viewer, "/")

    [table] = [e for e in reading.find_all(page, "table") if "cluster-table" in (reading.attribute(e, "class") or "")]
    shown = [reading.text_of(e) for e in reading.find_all(table, "a")]
    assert len(reading.find_all(table, "svg")) == 15
    assert ("All clusters" in shown, "15, most urgent first" in reading.text_of(page)) == (is_cut, is_cut)


def test_most_urgent_comes_first_and_only_its_act_is_primary(as_alice, alice, bob, busy, change):
    rows.make_plan(alice, [builders.build_change()])
    failed = rows.make_plan(alice, [change])
    rows.make_run(failed, bob, state=RunState.FAILED)
    Review.objects.filter(pk=failed.review_id).update(title="Failed one")

    page = reading.read(as_alice, "/")
    (listed,) = [e for e in reading.find_all(page, "ul") if "attention" in (reading.attribute(e, "class") or "")]
    acts = [link for link in reading.find_all(listed, "a") if "button" in (reading.attribute(link, "class") or "")]

    assert sorted(reading.text_of(act).split(":")[0].strip() for act in acts[:2]) == ["Re-plan", "Resolve"]
    assert reading.text_of(acts[2]).startswith("View changes")
    assert ["primary" in (reading.attribute(act, "class") or "") for act in acts] == [True, False, False]


def test_more_than_eight_are_counted(as_alice, alice):
    for _n in range(10):
        rows.make_plan(alice, [builders.build_change()])

    text = reading.text_of(reading.read(as_alice, "/"))

    assert "10, most urgent first" in text
    assert "2 more" in text
