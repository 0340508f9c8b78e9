"""Comments on lines of the diff and the YAML of an object: chosen by numbers, collected, sent, and linked."""

from __future__ import annotations

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, CollectedComment, Comment
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.approvals.commented_lines import CommentedLines, LineText, parse_lines
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.plans import live_values
from tests.web import rows

HTMX = {"HX-Request": "true"}


def address(plan, name, *more):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number, *more])


def say(browser, plan, text="why?", *, side="diff-after", first=1, last=2, headers=HTMX, **more):
    given = {"text": text, "position": 0, "side": side, "first": first, "last": last, **more}
    given = {name: value for name, value in given.items() if value is not None}
    return browser.post(address(plan, "add-comment"), given, headers=headers)


def test_lines_are_stored_and_covered_by_the_mac(as_bob, plan):
    answer = say(as_bob, plan)
    made = Comment.objects.get()

    assert (answer.status_code, made.lines, made.path) == (200, "diff-after:1-2", "")
    assert AuditEntry.objects.get(action=AuditAction.COMMENT_ADDED).detail["lines"] == "diff-after:1-2"
    assert not row_macs.find_fault(made)
    made.lines = "diff-after:1-3"
    assert row_macs.find_fault(made)


def test_fragment_has_the_thread_and_the_form_again(as_bob, plan):
    answer = say(as_bob, plan, first=2, last=1).content.decode()

    assert "lines 1 to 2, after apply, in the diff" in answer
    assert 'id="talk-0-lines"' in answer
    assert 'name="first"' in answer


def test_one_line_needs_no_last_one(as_bob, plan):
    say(as_bob, plan, last=None)

    assert Comment.objects.get().lines == "diff-after:1-1"


@pytest.mark.parametrize(
    "wrong",
    [{"side": "diff"}, {"first": None}, {"first": 0}, {"last": 100_000}, {"side": "last_applied", "last": 10_000}],
)
def test_lines_that_the_object_does_not_have_are_refused(as_bob, plan, wrong):
    assert say(as_bob, plan, **wrong, headers={}).status_code == 422
    assert Comment.objects.count() == 0


def test_lines_of_no_object_are_refused(as_bob, plan):
    assert say(as_bob, plan, position=None, headers={}).status_code == 422


def test_link_of_a_comment_leads_to_its_lines(as_bob, plan):
    say(as_bob, plan)
    say(as_bob, plan, side="live", first=2)
    page = as_bob.get(link_alone(plan, 0)).content.decode()
    activity = as_bob.get(address(plan, "show-activity")).content.decode()

    assert f'href="{link_alone(plan, 0, "diff").replace("&", "&amp;")}#lines-diff-after-1-2"' in page
    assert f'href="{link_alone(plan, 0, "yaml").replace("&", "&amp;")}&amp;version=live#lines-live-2-2"' in page
    assert "lines 1 to 2, after apply, in the diff" in activity


def test_collected_lines_are_sent_as_they_were_chosen(as_bob, plan):
    say(as_bob, plan, collect="1")
    assert CollectedComment.objects.get().lines == "diff-after:1-2"
    assert "lines 1 to 2" in as_bob.get(address(plan, "collected-comments")).content.decode()

    as_bob.post(address(plan, "collected-comments"), {"note": ""})

    assert Comment.objects.get().lines == "diff-after:1-2"


def test_scroll_counts_open_comments_on_lines(as_bob, plan):
    diff = f"{address(plan, 'show-changes')}?view=diff"
    assert "Comment on lines…" in as_bob.get(diff).content.decode()
    say(as_bob, plan)
    assert "1 open comment on lines" in as_bob.get(diff).content.decode()

    as_bob.post(reverse("reviews:resolve-comment", args=[plan.review.number, Comment.objects.get().pk]))

    assert "open comment on lines" not in as_bob.get(diff).content.decode()


def test_page_of_lines_offers_both_sides_of_the_diff_and_one_version(as_bob, plan):
    url = address(plan, "line-comments", 0)
    diff = as_bob.get(url, {"text": "diff-after", "first": 2, "last": 3}).content.decode()
    yaml = as_bob.get(url, {"text": "after"}).content.decode()

    assert ('value="diff-after"' in diff, 'value="diff-live"' in diff, 'value="2"' in diff) == (True, True, True)
    assert ('value="after"' in yaml, 'value="diff-live"' in yaml) == (True, False)
    assert as_bob.get(url, {"text": "other"}).status_code == 404


def test_page_of_lines_of_an_object_without_differences_offers_none(as_bob, alice, plan):
    """Its diff is empty, so that no number names a line of it; a version of it has lines."""
    change = live_values.read_change(plan, 0)
    live = replace(change.versions, after=change.versions.live)
    plan = rows.make_plan(alice, [replace(change, operation=Operation.UNCHANGED, versions=live)])
    url = address(plan, "line-comments", 0)

    diff = as_bob.get(url, {"text": "diff-after"}).content.decode()
    yaml = as_bob.get(url, {"text": "after"}).content.decode()

    assert ("there are no lines to comment on" in diff, 'name="first"' in diff) == (True, False)
    assert ("there are no lines to comment on" in yaml, 'name="first"' in yaml) == (False, True)
    assert say(as_bob, plan, first=1, last=1, headers={}).status_code == 422


@pytest.mark.parametrize("query", ["complete=1", "raw=1"])
def test_display_that_counts_other_lines_offers_no_comment_on_lines(as_bob, plan, query):
    page = as_bob.get(f"{link_alone(plan, 0, 'diff')}&{query}").content.decode()

    assert "Comment on lines…" not in page


def test_outsider_sees_no_comments_on_lines(as_charlie, plan):
    assert as_charlie.get(address(plan, "line-comments", 0), {"text": "after"}).status_code == 404
    assert say(as_charlie, plan).status_code == 404


@pytest.mark.parametrize("stored", ["", "after", "after:0-2", "other:1-2", "after:1-2 ", "diff-after:1"])
def test_stored_text_that_names_no_lines_is_none(stored):
    assert parse_lines(stored) is None


def test_stored_lines_are_read_as_written():
    lines = CommentedLines(LineText.LAST_APPLIED, 3, 12)

    assert parse_lines(str(lines)) == lines
