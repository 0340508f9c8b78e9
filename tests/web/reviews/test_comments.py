"""Comments: said, shown with a link to their field, and harmless."""

import pytest
from django.urls import reverse

from applyviz.records.models import Comment
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages.comments import render_markdown
from tests.web.conftest import _person


def say(browser, plan, text: str, **about):
    return browser.post(reverse("reviews:add-comment", args=[plan.review.number, 1]), {"text": text, **about})


def test_comment_on_the_review_is_shown(as_viewer, plan):
    answer = say(as_viewer, plan, "Is **Friday** fine?")
    page = as_viewer.get(reverse("reviews:show-activity", args=[plan.review.number, 1])).content.decode()

    made = Comment.objects.get()
    assert answer.headers["Location"].endswith(f"/plans/1/activity/#comment-{made.pk}")
    assert "<p>Is <strong>Friday</strong> fine?</p>" in page


def test_comment_on_a_field_links_to_it_and_is_named_in_the_review(as_viewer, plan):
    say(as_viewer, plan, "why?", position=0, field=1)

    address = link_alone(plan, 0)
    page = as_viewer.get(address).content.decode()
    activity = as_viewer.get(reverse("reviews:show-activity", args=[plan.review.number, 1])).content.decode()
    assert f'href="{address}&amp;field=1#object-0-field-1"' in page
    assert f'href="{address}#comment-{Comment.objects.get().pk}"' in activity


@pytest.mark.parametrize("data", [{"text": ""}, {"text": "x" * 10_001}, {"text": "x", "position": 0, "field": 99}])
def test_comment_that_cannot_be_used_is_refused(as_viewer, plan, data):
    assert as_viewer.post(reverse("reviews:add-comment", args=[plan.review.number, 1]), data).status_code == 422


def test_comment_on_an_object_that_is_not_there_is_not_found(as_viewer, plan):
    assert say(as_viewer, plan, "why?", position=7).status_code == 404


def test_outsider_may_not_comment(as_charlie, plan):
    assert say(as_charlie, plan, "hello").status_code == 404


def test_comment_takes_no_get(as_viewer, plan):
    assert as_viewer.get(reverse("reviews:add-comment", args=[plan.review.number, 1])).status_code == 405


def test_refused_comment_comes_back_with_what_was_written(as_viewer, plan):
    text = "y" * 10_001

    answer = as_viewer.post(reverse("reviews:add-comment", args=[plan.review.number, 1]), {"text": text, "position": 0})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert text in page
    assert 'name="position" value="0"' in page
    assert 'class="error"' in page


def test_own_comment_is_edited_and_keeps_its_past(as_viewer, as_alice, plan):
    say(as_viewer, plan, "why <script>?", position=0)
    made = Comment.objects.get()
    address = reverse("reviews:edit-comment", args=[plan.review.number, made.pk])
    assert "why &lt;script&gt;?" in as_viewer.get(address).content.decode()

    answer = as_viewer.post(address, {"text": "because"})

    place = link_alone(plan, 0)
    assert answer.headers["Location"] == f"{place}#comment-{made.pk}"
    page = as_viewer.get(place).content.decode()
    assert "<p>because</p>" in page
    assert "<p>why &lt;script&gt;?</p>" in page
    assert [as_alice.get(address).status_code, as_alice.post(address, {"text": "no"}).status_code] == [403, 403]
    assert as_viewer.post(address, {"text": " "}).status_code == 422


def test_remark_is_resolved_and_opened_again(as_viewer, as_alice, as_charlie, plan):
    say(as_viewer, plan, "why?")
    made = Comment.objects.get()
    address = reverse("reviews:resolve-comment", args=[plan.review.number, made.pk])

    as_alice.post(address)
    page = as_viewer.get(reverse("reviews:show-activity", args=[plan.review.number, 1])).content.decode()
    assert "resolved by alice" in page
    assert as_viewer.post(address).status_code == 409
    as_viewer.post(address, {"reopen": "1"})

    made.refresh_from_db()
    assert made.resolved_at is None
    assert [as_charlie.post(address).status_code, as_viewer.get(address).status_code] == [404, 405]


def test_auditor_reads_and_is_offered_no_form(plan, client):
    auditor = _person("otto", "auditor")
    client.force_login(auditor)

    page = client.get(reverse("reviews:show-activity", args=[plan.review.number, 1])).content.decode()

    assert reverse("reviews:add-comment", args=[plan.review.number, 1]) not in page
    assert "You can read but not comment" in page


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*so* `x`", "<p><em>so</em> <code>x</code></p>\n"),
        ("# big", "<p># big</p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("![x](https://a.example/x.png)", None),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        (
            "[x](https://a.example/?q=1)",
            '<p><a href="https://a.example/?q=1" rel="noopener noreferrer nofollow">x</a></p>\n',
        ),
        ("a\u202eb", "<p>aU+202Eb</p>\n"),
        ("one\ntwo", "<p>one<br>\ntwo</p>\n"),
    ],
)
def test_markdown_is_a_safe_subset(text, html):
    shown = render_markdown(text)

    assert "<img" not in shown
    assert html is None or shown == html
