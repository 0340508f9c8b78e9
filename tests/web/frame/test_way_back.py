"""No dead end after a sign-in or a reload: addresses that only take forms lead back to a page."""

import pytest
from django.test import Client
from django.test.html import parse_html
from django.urls import reverse

from applyviz.records.enums import ReviewState
from applyviz.web.frame import view_guard
from tests.web import reading

pytestmark = pytest.mark.django_db
PAGE = "/reviews/1/plans/1/changes/?only=3"


def test_address_of_a_form_is_a_page_that_leads_on(as_alice):
    answer = as_alice.get(reverse("reviews:close-review", args=[1]))

    page = answer.content.decode()
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "This address only takes a form." in page
    assert 'href="/reviews/1/">Go back</a>' in page
    assert 'href="/">Back to home' in page


def test_refusal_is_a_sentence_under_the_title_of_its_tab(as_alice):
    page = parse_html(as_alice.post(reverse("reviews:list-reviews")).content.decode().replace("<!DOCTYPE html>", ""))
    weak = parse_html(as_alice.get("/settings/people/").content.decode().replace("<!DOCTYPE html>", ""))

    titles = [reading.text_of(reading.find_all(page, tag)[0]) for tag in ("title", "h1")]
    assert titles == ["This can't be used · applyviz", "This can't be used"]
    assert "alice needs the role administrator or auditor." in reading.text_of(weak)


def test_form_sent_to_a_page_that_takes_none_is_told_so(as_alice):
    answer = as_alice.post(reverse("reviews:list-reviews"))

    page = answer.content.decode()
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert ("This page takes no form." in page, "only takes a form" in page) == (True, False)


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        (f"http://testserver{PAGE}", PAGE),
        ("https://elsewhere.example/x", ""),
        ("http://testserver//elsewhere.example/x", ""),
        # Sent again from the refusal, whose address takes only forms: the page above it.
        ("http://testserver/reviews/1/plans/1/apply/?only=3", "/reviews/1/plans/1/"),
        ("http://testserver/reviews/1/close/", "/reviews/1/"),
        ("http://testserver/reviews/1/plans/1/3/choose/", "/reviews/1/plans/1/"),
        ("http://testserver/settings/tokens/1/revoke/", "/settings/tokens/"),
        ("http://testserver/there/is/no/such/page/", ""),
    ],
)
def test_refused_form_leads_back_to_its_page(as_bob, plan, referer, back):
    plan.review.state = ReviewState.CLOSED
    plan.review.save()
    answer = as_bob.post(reverse("reviews:apply-plan", args=[1, 1]), headers={"referer": referer})

    page = reading.find_all(parse_html(answer.content.decode().replace("<!DOCTYPE html>", "")), "a")
    found = [reading.attribute(one, "href") for one in page if reading.text_of(one) == "Go back"]
    assert (answer.status_code, found) == (409, [back] if back else [])


def test_sign_in_leads_to_no_address_that_takes_only_forms():
    refused = reverse("reviews:close-review", args=[1])

    answer = Client().post(refused, headers={"referer": f"http://testserver{refused}"})

    assert answer.headers["Location"] == "/login/?next=/reviews/1/"


def test_sign_in_looks_up_a_few_parents_of_an_address_only(monkeypatch):
    looked_up = []
    monkeypatch.setattr(view_guard, "_can_be_opened", lambda path: looked_up.append(path))
    refused = reverse("reviews:close-review", args=[1])

    answer = Client().post(refused, headers={"referer": f"http://testserver/{'a/' * 4000}"})

    assert (answer.headers["Location"], len(looked_up)) == ("/login/?next=/", 16)


def test_form_sent_after_the_session_ended_leads_back_to_its_page():
    answer = Client().post(reverse("reviews:close-review", args=[1]), headers={"referer": f"http://testserver{PAGE}"})

    assert answer.headers["Location"] == "/login/?next=/reviews/1/plans/1/changes/%3Fonly%3D3"


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example/reviews/1/", "//elsewhere.example/", "nonsense"])
def test_form_without_a_known_page_leads_home(referer):
    answer = Client().post(reverse("reviews:close-review", args=[1]), headers={"referer": referer})

    assert answer.headers["Location"] == "/login/?next=/"


@pytest.mark.parametrize("method", ["get", "post"])
def test_part_of_a_page_says_that_the_session_has_ended(method):
    """A redirect would put the whole page to sign in into that part, whose form leads nowhere from there."""
    headers = {"hx-request": "true", "referer": f"http://testserver{PAGE}"}

    answer = getattr(Client(), method)(reverse("reviews:confirm-plan", args=[1, 1]), headers=headers)

    page = answer.content.decode()
    assert (answer.status_code, answer.headers["Vary"].split(", ")[0]) == (401, "HX-Request")
    assert "your session has ended" in page
    assert 'href="/login/?next=/reviews/1/plans/1/changes/%3Fonly%3D3">Sign in</a>' in page
    assert ("<html" in page, "<form" in page) == (False, False)
