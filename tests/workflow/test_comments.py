"""Comments on a review, an object and a field."""

import pytest

from applyviz.records.models import AuditEntry
from applyviz.workflow.approvals import comments
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from tests.web import builders, rows
from tests.web.conftest import _person, alice, bob  # noqa: F401 the cast


@pytest.fixture
def plan(alice):  # noqa: F811 the cast
    return rows.make_plan(alice, [builders.build_change()])


def test_comment_names_what_it_is_about(alice, plan):  # noqa: F811 the cast
    row = plan.changes.get()

    for about in ({}, {"row": row}, {"row": row, "field": 1}):
        comments.add_comment(plan, by=alice, content=comments.check_content(" why? ", **about))

    assert [(c.text, c.object_key, c.path) for c in comments.list_comments(plan)] == [
        ("why?", "", ""),
        ("why?", "apps/Deployment/shop/frontend", ""),
        ("why?", "apps/Deployment/shop/frontend", ".spec.replicas"),
    ]


def test_history_tells_of_a_comment_without_its_text(alice, plan):  # noqa: F811 the cast
    content = comments.check_content("the password is swordfish", row=plan.changes.get(), field=1)
    made = comments.add_comment(plan, by=alice, content=content)

    entry = AuditEntry.objects.get(action="comment.added")
    assert (entry.name, entry.detail) == ("frontend", {"comment": made.pk, "field": ".spec.replicas"})


@pytest.mark.parametrize(("text", "field"), [("  ", None), ("x" * 10_001, None), ("why?", 99)])
def test_comment_that_cannot_be_used_is_refused(alice, plan, text, field):  # noqa: F811 the cast
    with pytest.raises(NotValidError):
        comments.add_comment(plan, by=alice, content=comments.check_content(text, row=plan.changes.get(), field=field))


def test_outsider_may_not_comment(plan):
    with pytest.raises(NotVisibleError):
        comments.add_comment(plan, by=_person("charlie"), content=comments.check_content("hello"))


def test_edit_keeps_what_stood_there(alice, plan):  # noqa: F811 the cast
    made = comments.add_comment(plan, by=alice, content=comments.check_content("first"))
    comments.edit_comment(made, by=alice, text=" second ")
    made.refresh_from_db()
    comments.edit_comment(made, by=alice, text="third")
    made.refresh_from_db()

    assert (made.text, [e["text"] for e in made.earlier], made.edited_at is not None) == (
        "third",
        ["first", "second"],
        True,
    )
    assert [e.detail for e in AuditEntry.objects.filter(action="comment.edited")] == [
        {"comment": made.pk, "field": ""},
        {"comment": made.pk, "field": ""},
    ]


def test_only_who_wrote_edits_and_nobody_twice_at_once(alice, bob, plan):  # noqa: F811 the cast
    made = comments.add_comment(plan, by=alice, content=comments.check_content("mine"))
    same = comments.get_comment(made.pk, review_number=plan.review.number, for_user=alice)
    comments.edit_comment(made, by=alice, text="mine, still")

    with pytest.raises(NotAllowedError):
        comments.edit_comment(made, by=bob, text="not mine")
    with pytest.raises(NotPossibleError, match="this comment changed since you opened it"):
        comments.edit_comment(same, by=alice, text="from another window")
    with pytest.raises(NotValidError):
        comments.edit_comment(made, by=alice, text=" ")


def test_remark_is_resolved_and_opened_again_by_whoever_may_comment(alice, bob, plan):  # noqa: F811 the cast
    made = comments.add_comment(plan, by=alice, content=comments.check_content("why?"))
    comments.resolve_comment(made, by=bob)
    made.refresh_from_db()
    assert made.resolved_by == bob

    with pytest.raises(NotPossibleError, match="already resolved"):
        comments.resolve_comment(made, by=alice)
    comments.resolve_comment(made, by=alice, is_resolved=False)
    made.refresh_from_db()

    assert (made.resolved_by, made.resolved_at) == (None, None)
    actions = AuditEntry.objects.filter(action__startswith="comment.").order_by("sequence")
    assert [e.action for e in actions] == ["comment.added", "comment.resolved", "comment.reopened"]


def test_comment_of_another_review_is_not_there(alice, plan):  # noqa: F811 the cast
    made = comments.add_comment(plan, by=alice, content=comments.check_content("why?"))

    with pytest.raises(NotVisibleError):
        comments.get_comment(made.pk, review_number=99, for_user=alice)
    with pytest.raises(NotVisibleError):
        comments.get_comment(made.pk, review_number=plan.review.number, for_user=_person("charlie"))
