"""Files that a page of an object offers."""

import pytest
from django.urls import reverse


def get(browser, plan, name):
    return browser.get(reverse("reviews:show-file", args=[plan.review.number, plan.number, 0, name]))


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("manifest.yaml", "apiVersion: apps/v1\n"),
        ("live.yaml", "apiVersion: apps/v1\n"),
        ("request-1.yaml", "apiVersion: apps/v1\n"),
        ("request-1.sh", "curl --request PATCH"),
        ("kubectl.sh", "kubectl apply --server-side"),
    ],
)
def test_file_is_offered_by_its_name(as_viewer, plan, name, beginning):
    answer = get(as_viewer, plan, name)

    assert answer.content.decode().startswith(beginning)
    assert answer["Content-Disposition"] == f'attachment; filename="deployment-frontend-{name}"'
    assert answer["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("name", ["request-0.yaml", "request-9.yaml", "last_applied.yaml", "sealed.yaml", "versions"])
def test_what_is_no_file_is_not_found(as_viewer, plan, name):
    assert get(as_viewer, plan, name).status_code == 404


def test_outsider_sees_no_file(as_charlie, plan):
    assert get(as_charlie, plan, "manifest.yaml").status_code == 404
