"""One object in its views, as page and as fragment."""

import pytest
from django.urls import reverse

HTMX = {"HX-Request": "true"}


def url(plan, tab="changes", position=0) -> str:
    return reverse("reviews:show-object", args=[plan.review.number, plan.number, position, tab])


@pytest.mark.parametrize(
    ("tab", "text"),
    [
        ("changes", "live → after"),
        ("diff", "Live against after apply"),
        ("requests", "application/apply-patch+yaml"),
        ("owners", "last wrote"),
        ("yaml", "terminationGracePeriodSeconds"),
    ],
)
def test_tab_is_a_page_and_a_fragment(as_viewer, plan, tab, text):
    page = as_viewer.get(url(plan, tab)).content.decode()
    fragment = as_viewer.get(url(plan, tab), headers=HTMX)

    assert text in page
    assert text in fragment.content.decode()
    assert ("<html" in page, "<html" in fragment.content.decode()) == (True, False)
    assert "HX-Request" in fragment.headers["Vary"]


def test_going_back_in_history_gets_the_whole_page(as_viewer, plan):
    answer = as_viewer.get(url(plan), headers={**HTMX, "HX-History-Restore-Request": "true"})

    assert "<html" in answer.content.decode()


def test_filter_leaves_only_what_it_names(as_viewer, plan):
    removed = as_viewer.get(url(plan) + "?show=removed", headers=HTMX).content.decode().split("data-talk")[0]

    assert "DISABLE_PROFILER" in removed
    assert "ENABLE_SINGLE_SESSION" not in removed


def test_unknown_filter_falls_back_to_changes(as_viewer, plan):
    assert "ENABLE_SINGLE_SESSION" in as_viewer.get(url(plan) + "?show=nonsense", headers=HTMX).content.decode()


@pytest.mark.parametrize(("tab", "position"), [("nonsense", 0), ("changes", 7)])
def test_unknown_tab_or_object_is_not_found(as_viewer, plan, tab, position):
    assert as_viewer.get(url(plan, tab, position)).status_code == 404


def test_object_is_hidden_from_outsiders(as_charlie, plan):
    assert as_charlie.get(url(plan)).status_code == 404
    assert as_charlie.get(url(plan), headers=HTMX).status_code == 404


def test_field_tells_what_the_schema_says(as_viewer, plan):
    index = next(n for n, f in enumerate(plan.changes.get().document["fields"]) if f["path"][-1] == "f:replicas")
    address = reverse("reviews:show-field", args=[plan.review.number, 1, 0, index])

    page = as_viewer.get(address).content.decode()
    fragment = as_viewer.get(address, headers=HTMX).content.decode()

    assert "Number of desired pods" in page
    assert "Number of desired pods" in fragment
    assert "<html" not in fragment


def test_unknown_field_is_not_found(as_viewer, plan):
    address = reverse("reviews:show-field", args=[plan.review.number, 1, 0, 99])

    assert as_viewer.get(address).status_code == 404
