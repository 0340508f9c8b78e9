"""Who counts as an editor of a followed branch: commits, pushes, rewritten history, and who is not known."""

import pytest

from applyviz.records.enums import Role
from applyviz.records.git_enums import HistoryGap
from applyviz.records.models import (
    CommitRange,
    Following,
    Review,
)
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.people import commit_people
from applyviz.workflow.plans import reviews
from tests.blockers import name_blockers
from tests.builders import make_person, open_dangers
from tests.following import approve, begin, push
from tests.stories import config_map

pytestmark = pytest.mark.django_db


def test_author_committer_and_pusher_cannot_approve(stage, people):
    review, first = begin(stage)
    second = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="2").encode()},
        author="Bob <bob@example.org>",
        committer="Carol <carol+work@example.org>",
    )
    stage.push(first, second, login="dave", email="DAVE@example.org")
    stage.follow()
    plan = stage.calculate(review)

    for name in ("bob", "carol", "dave"):
        open_dangers(plan, people[name])
        with pytest.raises(NotAllowedError, match="you wrote, committed or pushed commits of this plan"):
            approving.approve_plan(plan, by=people[name], digest=plan.digest)
    approve(plan, make_person("erin", Role.APPROVER))
    assert not quorum.count_quorum(plan).missing


def test_commits_count_since_the_last_approved_plan(stage, people):
    review, first = begin(stage)
    second, plan = push(stage, review, first, "carol", a="2")
    approve(plan, people["bob"])
    third, plan = push(stage, review, second, "bob", a="3")

    found = commit_people.find_editors(plan)
    assert [one.person.email for one in found.editors] == ["bob@example.org", "bob@example.org"]
    assert found.range.base == second
    assert found.range.commits == [third]
    approve(plan, people["carol"])


@pytest.mark.long
def test_commits_of_plans_that_nobody_approved_count_in_the_next_one(stage, people):
    review, first = begin(stage)
    second, _plan = push(stage, review, first, "carol", a="2")
    _third, plan = push(stage, review, second, "dave", a="3")

    emails = {one.person.email for one in commit_people.find_editors(plan).editors}
    assert emails == {f"{name}@example.org" for name in ("alice", "carol", "dave")}
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=people["carol"], digest=plan.digest)


@pytest.mark.long
def test_replan_of_pushed_manifests_forgets_no_editor(stage, people):
    review, first = begin(stage)
    push(stage, review, first, "carol", a="2")
    again = reviews.replan_review(review, by=people["alice"])
    plan = stage.calculate(review)

    assert plan.pk == again.pk
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=people["carol"], digest=plan.digest)
    approve(plan, people["bob"])


@pytest.mark.long
def test_commit_outside_the_path_names_no_editor(stage, people):
    review, first = begin(stage)
    approve(review.plans.get(), people["bob"])
    files = {"deploy/app.yaml": config_map(a="1").encode(), "docs/readme.md": b"x"}
    second = stage.repository.commit(files, author="Carol <carol@example.org>")
    stage.push(first, second, login="carol", email="carol@example.org")
    stage.follow()
    third, plan = push(stage, review, second, "dave", a="2")

    found = commit_people.find_editors(plan)
    assert {(one.person.email, one.roles) for one in found.editors if "pusher" not in one.roles} == {
        ("dave@example.org", ("author", "committer"))
    }
    assert found.range.commits == [third, second]


def test_unmatched_author_blocks_until_an_administrator_links_them(stage, people):
    from applyviz.records.git_enums import IdentityKind  # noqa: PLC0415 - one test
    from applyviz.workflow.people import commit_identities  # noqa: PLC0415 - one test

    review, first = begin(stage)
    second = stage.commit("stranger", a="2")
    stage.push(first, second, login="dave", email="dave@example.org")
    stage.follow()
    plan = stage.calculate(review)

    open_dangers(plan, people["bob"])
    with pytest.raises(NotPossibleError, match="no account matches Stranger"):
        approving.approve_plan(plan, by=people["bob"], digest=plan.digest)

    commit_identities.link(people["carol"], IdentityKind.EMAIL, "stranger@example.org", by=stage.admin)
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=people["carol"], digest=plan.digest)
    approve(plan, people["bob"])


@pytest.mark.long
def test_unknown_pusher_blocks_until_the_delivery_arrives(stage, people):
    review, first = begin(stage)
    second = stage.commit("carol", a="2")
    branches.check_now(review, by=people["alice"])
    stage.follow()
    plan = stage.calculate(review)

    assert "no delivery of the git host names the pusher" in name_blockers(plan)[0]
    stage.push(first, second, login="dave", email="dave@example.org")
    stage.follow()
    assert review.plans.count() == 2
    assert sentences.describe_all(commit_people.find_unknown(plan)) == ()
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=people["dave"], digest=plan.digest)


@pytest.mark.long
def test_force_push_within_the_known_history_counts_the_new_commits(stage, people):
    review, first = begin(stage)
    approve(review.plans.get(), people["bob"])
    second, _plan = push(stage, review, first, "carol", a="2")
    forced = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="3").encode()}, author="Dave <dave@example.org>", parents=[first]
    )
    stage.push(second, forced, login="dave", email="dave@example.org")
    stage.follow()
    plan = stage.calculate(review)

    found = commit_people.find_editors(plan)
    assert (found.range.base, found.range.commits, found.gap) == (first, [forced], "")
    assert {one.person.email for one in found.editors} == {
        "dave@example.org",
        "carol@example.org",
    }  # who pushed what is gone
    assert found.unknown_pushers == ()
    approve(plan, people["bob"])


@pytest.mark.long
def test_rewritten_history_counts_everybody_in_it(stage, people):
    review, first = begin(stage)
    approve(review.plans.get(), people["bob"])
    root = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="8").encode()}, author="Carol <carol@example.org>", parents=[]
    )
    tip = stage.commit("dave", a="9")
    stage.push(first, tip, login="dave", email="dave@example.org")
    stage.follow()
    plan = stage.calculate(review)

    found = commit_people.find_editors(plan)
    assert (found.gap, found.range.commits, found.unknown_pushers) == ("", [tip, root], ())
    assert {one.person.email for one in found.editors} == {"carol@example.org", "dave@example.org"}


@pytest.mark.long
def test_approved_commit_beyond_the_known_history_blocks(stage, people, monkeypatch):
    from applyviz.sources.git import history  # noqa: PLC0415 - one test

    review, first = begin(stage)
    approve(review.plans.get(), people["bob"])
    monkeypatch.setattr(history, "DEPTH", 3)
    before = first
    for number in range(6):
        commit = stage.commit("carol", a=f"long {number}")
        stage.push(before, commit, login="carol", email="carol@example.org")
        before = commit
    stage.follow()
    plan = stage.calculate(review)

    assert CommitRange.objects.get(plan=plan).gap == HistoryGap.BASE_LOST
    assert any("last approved commit" in blocker for blocker in name_blockers(plan))


@pytest.mark.long
def test_next_review_needs_pushers_as_the_first_one_did(stage, people):
    review, first = begin(stage)
    second, plan = push(stage, review, first, "carol", a="2")
    open_dangers(plan, people["bob"])
    stage.team.work(runs.approve_and_run(plan, by=people["bob"], digest=plan.digest))
    stage.commit("dave", a="3")  # no delivery tells this push
    branches.check_now(review, by=people["alice"])
    stage.follow()

    plan = stage.calculate(Review.objects.get(number=2))
    assert any("names the pusher" in text for text in sentences.describe_all(commit_people.find_unknown(plan)))
    assert Following.objects.get(ended_at=None).first_commit == first
    assert second != first


@pytest.mark.long
def test_stop_and_start_explain_no_commit(stage, people):
    review, _first = begin(stage)
    stage.commit("carol", a="2")
    branches.check_now(review, by=people["alice"])
    stage.follow()
    stage.calculate(review)
    branches.stop_following(review, by=people["alice"])
    stage.start(review)
    reviews.replan_review(review, by=people["alice"])
    plan = stage.calculate(review)

    assert any("names the pusher" in text for text in sentences.describe_all(commit_people.find_unknown(plan)))


@pytest.mark.long
def test_invisible_characters_of_a_name_are_drawn(stage, people):
    review, first = begin(stage)
    second = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="2").encode()}, author="E\u202evil\u200b <evil@example.org>"
    )
    stage.push(first, second, login="ca\u202erol", email="carol@example.org")
    stage.follow()
    plan = stage.calculate(review)

    assert {one.person.name for one in commit_people.find_editors(plan).editors} == {
        "Alice",
        "E\ufffdvil\ufffd",
        "ca\ufffdrol",
    }


@pytest.mark.long
def test_merge_by_the_host_names_no_committer(stage, people):
    review, first = begin(stage)
    second = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="2").encode()},
        author="Carol <1234+Carol@users.noreply.localhost>",
        committer="GitHub <noreply@localhost>",
    )
    stage.push(first, second, login="carol", email="carol@example.org")
    stage.follow()
    plan = stage.calculate(review)

    found = {(one.person.email or one.person.login, one.roles) for one in commit_people.find_editors(plan).editors}
    assert ("localhost/carol", ("author",)) in found
    assert not any("noreply" in name for name, _roles in found)


@pytest.mark.long
def test_author_who_hides_behind_the_address_of_the_host_blocks(stage, people):
    review, first = begin(stage)
    second = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="2").encode()},
        author="Mallory <noreply@localhost>",
        committer="GitHub <noreply@localhost>",
    )
    stage.push(first, second, login="carol", email="carol@example.org")
    stage.follow()
    plan = stage.calculate(review)

    assert sentences.describe_all(commit_people.find_unknown(plan)) == (
        f"no account matches Mallory (author of {second[:10]})",
    )
    with pytest.raises(NotPossibleError, match="no account matches Mallory"):
        approve(plan, people["bob"])


@pytest.mark.long
def test_pusher_of_a_tip_that_was_forced_away_counts(stage, people):
    review, first = begin(stage)
    approve(review.plans.get(), people["bob"])
    hidden = stage.commit("alice", a="2")
    tip = stage.commit("alice", a="3")
    stage.push(first, tip, login="dave", email="dave@example.org")
    forced = stage.repository.commit(
        {"deploy/app.yaml": config_map(a="4").encode()}, author="Alice <alice@example.org>", parents=[hidden]
    )
    stage.push(tip, forced, login="carol", email="carol@example.org")
    stage.follow()
    plan = stage.calculate(review)

    accounts = {account.username for account in commit_people.find_editors(plan).accounts}
    assert accounts == {"alice", "carol", "dave"}
    assert sentences.describe_all(commit_people.find_unknown(plan)) == ()
