"""No dead end after a sign-in or a reload: addresses that only take forms lead back to a page."""

import pytest
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db
PAGE = "/reviews/1/plans/1/changes/?only=3"


def test_address_of_a_form_is_a_page_that_leads_on(as_alice):
    answer = as_alice.get(reverse("reviews:close-review", args=[1]))

    page = answer.content.decode()
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "This address only takes a form." in page
    assert 'href="/">Back to home' in page


def test_form_sent_after_the_session_ended_leads_back_to_its_page():
    answer = Client().post(reverse("reviews:close-review", args=[1]), headers={"referer": f"http://testserver{PAGE}"})

    assert answer.headers["Location"] == "/login/?next=/reviews/1/plans/1/changes/%3Fonly%3D3"


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example/reviews/1/", "//elsewhere.example/", "nonsense"])
def test_form_without_a_known_page_leads_home(referer):
    answer = Client().post(reverse("reviews:close-review", args=[1]), headers={"referer": referer})

    assert answer.headers["Location"] == "/login/?next=/"
