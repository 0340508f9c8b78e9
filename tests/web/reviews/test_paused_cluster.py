"""A review whose cluster is paused or archived: its pages say so, and lead to where that ends."""

from datetime import timedelta

import pytest
from django.urls import reverse

from applyviz import clock
from applyviz.records.models import Cluster, Review
from applyviz.workflow.approvals import approving
from applyviz.workflow.policies.windows import parse_window
from tests.builders import make_policy
from tests.web import reading

PAUSED = "demo is paused (Upgrade to 1.37). An administrator can resume it on its page"


def page_of(browser, plan, name="reviews:show-plan"):
    return reading.read(browser, reverse(name, args=[plan.review.number, plan.number]))


def list_links(page) -> dict[str, str | None]:
    return {reading.text_of(one): reading.attribute(one, "href") for one in reading.find_all(page, "a")}


@pytest.fixture
def closed_window(db):
    """A policy whose change window opens in hours."""
    first = clock.now() + timedelta(hours=4)
    last = first + timedelta(hours=2)
    make_policy(windows=(parse_window(f"daily {first:%H:%M}-{last:%H:%M} UTC"),))


@pytest.fixture
def approved(plan, bob):
    """A plan that nothing but its cluster keeps from running."""
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    return plan


@pytest.fixture
def paused(approved):
    """The same on a cluster that is paused."""
    Cluster.objects.update(name="demo", paused_at=clock.now(), pause_reason="Upgrade to 1.37")
    return approved


def test_long_reason_is_shortened_everywhere_but_on_the_page_of_the_cluster(as_bob, paused):
    reason = " ".join(["Upgrade of the control plane and of all node pools"] * 6)
    Cluster.objects.update(pause_reason=reason)

    header = reading.text_of(page_of(as_bob, paused))
    cluster = reading.read(as_bob, reverse("clusters:show-cluster", args=[paused.target.cluster.slug]))

    assert f"demo is paused ({reason[:49]}…). An administrator can resume it" in header
    assert reason in reading.text_of(cluster)


@pytest.mark.parametrize("reader", ["as_alice", "as_bob"])
def test_header_names_the_pause_and_no_change_window(request, paused, reader):
    page = page_of(request.getfixturevalue(reader), paused)

    text = reading.text_of(page)
    assert ("cluster paused" in text, "change window" in text, "can apply it" in text) == (True, False, False)
    assert list_links(page)[PAUSED] == reverse("clusters:show-cluster", args=[paused.target.cluster.slug])


def test_closed_window_does_not_open_while_the_cluster_is_paused(closed_window, as_bob, paused):
    text = reading.text_of(page_of(as_bob, paused))

    assert ("cluster paused" in text, "The next change window opens" in text) == (True, False)


def test_author_reads_when_the_window_opens(closed_window, as_alice, approved):
    text = reading.text_of(page_of(as_alice, approved))

    assert "blocked by change window" in text
    assert "The next change window opens at" in text
    assert "An approver or operator can apply it." not in text


def test_step_of_an_archived_cluster_names_it(as_bob, approved):
    Cluster.objects.update(archived_at=clock.now())

    assert "cluster archived" in reading.text_of(page_of(as_bob, approved))


def test_approve_page_names_the_cluster_instead_of_a_window(as_bob, plan):
    Cluster.objects.update(name="demo", paused_at=clock.now(), pause_reason="Upgrade to 1.37")

    page = page_of(as_bob, plan, "reviews:confirm-plan")

    text = reading.text_of(page)
    assert ("Change window" in text, "window opens" in text) == (False, False)
    assert list_links(page)[PAUSED] == reverse("clusters:show-cluster", args=[plan.target.cluster.slug])


def test_page_of_the_cluster_leads_its_administrators_to_the_button(as_dana, as_bob, paused):
    address = reverse("clusters:show-cluster", args=[paused.target.cluster.slug])
    resume = reverse("clusters:manage-cluster", args=[paused.target.cluster.slug]) + "#h-pause"

    found = [list_links(reading.read(browser, address)).get("Resume…") for browser in (as_dana, as_bob)]

    assert found == [resume, None]


def test_no_plan_is_offered_while_the_cluster_is_paused(as_alice, paused):
    page = page_of(as_alice, paused)

    text = reading.text_of(page)
    assert ("No new plan: " + PAUSED in text, "Close without applying" in text) == (True, True)
    assert [one for one in ("Re-plan", "Upload new manifests") if one in text] == []


def test_step_that_makes_a_plan_is_disabled_and_says_why(as_alice, refused_plan, bob):
    Cluster.objects.update(name="demo", paused_at=clock.now(), pause_reason="Upgrade to 1.37")

    page = page_of(as_alice, refused_plan)

    button = next(one for one in reading.find_all(page, "span", has="data-next-act"))
    assert (reading.text_of(button), reading.attribute(button, "aria-disabled")) == ("Resolve 1 conflict", "true")
    text = reading.text_of(page)
    assert (f"{PAUSED} · 1 object with unresolved conflicts" in text, "then bob approves" in text) == (True, False)
    changes = page_of(as_alice, refused_plan, "reviews:show-changes")
    assert reading.find_all(changes, "form", has="data-choose-first") == []


MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n"


def test_cluster_choice_of_a_new_review_marks_paused_clusters(as_alice, paused):
    Cluster.objects.create(slug="other", name="other", created_at=clock.now())

    page = reading.read(as_alice, reverse("reviews:add-review"))

    choice = next(one for one in reading.find_all(page, "select") if reading.attribute(one, "name") == "cluster")
    options = {reading.text_of(one) for one in reading.find_all(choice, "option")}
    assert options == {"demo (paused)", "other"}


def test_new_review_of_a_paused_cluster_is_refused_in_its_form(as_alice, paused):
    given = {
        "title": "Kept",
        "text": MANIFEST,
        "cluster": paused.target.cluster.slug,
        "namespace": "shop",
        "mode": "server",
    }

    answer = as_alice.post(reverse("reviews:add-review"), given)

    page = answer.content.decode()
    assert (answer.status_code, Review.objects.count()) == (422, 1)
    assert (PAUSED in page, "name: kept" in page, 'value="Kept"' in page) == (True, True, True)


def test_new_manifests_of_a_paused_cluster_are_refused_in_their_form(as_alice, paused):
    answer = as_alice.post(reverse("reviews:replace-manifests", args=[1]), {"text": MANIFEST, "seen": "1"})

    page = answer.content.decode()
    assert (answer.status_code, PAUSED in page, "name: kept" in page) == (422, True, True)
    assert paused.review.plans.count() == 1
