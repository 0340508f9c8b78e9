"""Comments on fields in Changes: shown on their rows, collected while reading, and sent together."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, ChangeRequest, CollectedComment, Comment
from applyviz.workflow.approvals import collected_comments
from tests.web import reading, rows
from tests.web.conftest import _browser, _person

HTMX = {"HX-Request": "true"}


def address(plan, name, *more):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number, *more])


def collect(browser, plan, text, *, field=0, **more):
    given = {"text": text, "position": 0, "field": field, "collect": "1", **more}
    return browser.post(address(plan, "add-comment"), given, headers=HTMX)


def send(browser, plan, **given):
    return browser.post(address(plan, "collected-comments"), given)


def test_a_field_in_changes_has_its_comments_and_a_form(as_bob, plan):
    as_bob.post(address(plan, "add-comment"), {"text": "Why **now**?", "position": 0, "field": 0})
    changes = as_bob.get(address(plan, "show-changes")).content.decode()
    url = address(plan, "field-comments", 0, 0)
    part = as_bob.get(url, headers=HTMX).content.decode()
    page = as_bob.get(url).content.decode()

    assert f'<a href="{url}" hx-get="{url}"' in changes
    assert f'<p class="row-comments"><a href="{url}">1 open comment</a></p>' in " ".join(changes.split()).replace(
        "> 1 open comment <", ">1 open comment<"
    )
    for shown in (part, page):
        assert "Why <strong>now</strong>?" in shown
        assert 'name="field" value="0"' in shown
    assert ("<html" in part, "<html" in page) == (False, True)
    assert as_bob.get(address(plan, "field-comments", 0, 99)).status_code == 404


def test_resolved_comments_are_not_counted_on_the_row(as_bob, plan):
    as_bob.post(address(plan, "add-comment"), {"text": "why?", "position": 0, "field": 0})
    comment = Comment.objects.get()
    as_bob.post(reverse("reviews:resolve-comment", args=[plan.review.number, comment.pk]))

    assert "open comment" not in as_bob.get(address(plan, "show-changes")).content.decode()


def test_a_comment_in_the_scroll_is_answered_with_its_thread(as_bob, plan):
    given = {"text": "at once", "position": 0, "field": 0}
    answer = as_bob.post(address(plan, "add-comment"), given, headers=HTMX).content.decode()

    assert "at once" in answer
    assert 'id="talk-0-0"' in answer
    assert (Comment.objects.count(), CollectedComment.objects.count()) == (1, 0)


def test_collected_comments_are_seen_by_their_author_alone(as_bob, as_alice, plan):
    answer = collect(as_bob, plan, "secret thought").content.decode()
    pages = [
        (browser.get(url).content.decode())
        for browser in (as_bob, as_alice)
        for url in (address(plan, "field-comments", 0, 0), address(plan, "collected-comments"))
    ]

    assert "Send 1 collected comment" in " ".join(answer.split())
    assert ["secret thought" in page for page in pages] == [True, True, False, False]
    assert "secret thought" not in as_bob.get(address(plan, "show-activity")).content.decode()
    assert not AuditEntry.objects.filter(action=AuditAction.COMMENT_ADDED).exists()


def test_all_are_sent_as_one_with_a_comment_on_the_review(as_bob, as_alice, plan):
    collect(as_bob, plan, "first")
    collect(as_bob, plan, "second", field=1)
    bar = as_bob.get(address(plan, "show-changes")).content.decode()

    answer = send(as_bob, plan, note="All in all fine")

    assert "Send 2 collected comments" in " ".join(bar.split())
    assert answer.headers["Location"] == address(plan, "show-activity")
    sent = list(Comment.objects.values_list("text", "path"))
    assert [text for text, _path in sent] == ["All in all fine", "first", "second"]
    assert [bool(path) for _text, path in sent] == [False, True, True]
    assert len({path for _text, path in sent}) == 3
    assert CollectedComment.objects.count() == 0
    assert AuditEntry.objects.filter(action=AuditAction.COMMENT_ADDED).count() == 3
    activity = as_alice.get(address(plan, "show-activity")).content.decode()
    assert activity.count("All in all fine") == 1


def test_an_approver_requests_changes_with_them(as_bob, plan):
    collect(as_bob, plan, "no")
    page = as_bob.get(address(plan, "collected-comments")).content.decode()

    refused = send(as_bob, plan, note="", digest=plan.digest)
    send(as_bob, plan, note="Split this", digest=plan.digest)

    assert "Send and request changes" in page
    assert (refused.status_code, "Say what needs to change." in refused.content.decode()) == (422, True)
    assert [(one.note, one.by.username) for one in ChangeRequest.objects.select_related("by")] == [
        ("Split this", "bob")
    ]
    assert [one.text for one in Comment.objects.all()] == ["no"]


def test_nothing_is_sent_when_changes_cannot_be_requested(as_bob, as_alice, plan):
    collect(as_bob, plan, "kept")

    refused = send(as_bob, plan, note="Split this", digest="another")

    assert (refused.status_code, "Split this" in refused.content.decode()) == (422, True)
    assert (Comment.objects.count(), CollectedComment.objects.count()) == (0, 1)
    assert "request changes" not in as_alice.get(address(plan, "collected-comments")).content.decode()


def test_one_is_removed_by_its_author_only(as_bob, as_alice, plan):
    collect(as_bob, plan, "never mind")
    made = CollectedComment.objects.get()
    url = address(plan, "drop-comment", made.pk)

    assert as_alice.post(url).status_code == 404
    assert as_bob.post(url).headers["Location"] == address(plan, "collected-comments")
    assert CollectedComment.objects.count() == 0
    assert "No comments collected" in as_bob.get(address(plan, "collected-comments")).content.decode()


def test_nothing_and_too_much_are_refused(as_bob, plan, monkeypatch):
    refused = send(as_bob, plan)
    assert (refused.status_code, "you collected no comments" in refused.content.decode()) == (422, True)
    monkeypatch.setattr(collected_comments, "MOST", 1)
    collect(as_bob, plan, "one")

    assert collect(as_bob, plan, "two").status_code == 409
    assert collect(as_bob, plan, "").status_code == 422


def test_who_may_not_see_or_comment_is_refused(as_charlie, plan):
    auditor = _browser(_person("audrey", "auditor"))

    assert as_charlie.get(address(plan, "field-comments", 0, 0)).status_code == 404
    assert collect(as_charlie, plan, "hello").status_code == 404
    assert collect(auditor, plan, "hello").status_code == 403
    assert "You can read but not comment." in auditor.get(address(plan, "field-comments", 0, 0)).content.decode()


@pytest.mark.core(1)
@pytest.mark.parametrize("count", [0, 5])
def test_changes_ask_for_comments_a_fixed_number_of_times(as_bob, plan, count, django_assert_num_queries):
    author = User.objects.get(username="bob")
    for n in range(count):
        Comment.objects.create(
            review=plan.review, plan=plan, by=author, object_key="apps/Deployment/shop/frontend",
            path=f".spec.field{n}", text="x", created_at=rows.NOW,
        )  # fmt: skip
    url = address(plan, "scroll-objects")
    as_bob.get(url, headers=HTMX)

    with django_assert_num_queries(7):
        as_bob.get(url, headers=HTMX)


def test_a_page_without_script_leads_back_to_the_object(as_bob, plan):
    page = reading.read(as_bob, address(plan, "field-comments", 0, 0))
    back = [a for a in reading.find_all(page, "a") if reading.text_of(a) == "Back to Changes"]

    assert [reading.attribute(a, "href") for a in back] == [f"{address(plan, 'show-changes')}?at=0#object-0"]
