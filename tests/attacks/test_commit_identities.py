"""Attacks on the four-eyes rule of followed branches: second addresses, forged authors, claims, changed rows."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.engine.risks.planning.whole import UNKNOWN_EDITORS
from applyviz.records.enums import Role
from applyviz.records.git_enums import IdentityKind
from applyviz.records.models import CommitEditor, CommitIdentity
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, TooOftenError
from applyviz.workflow.people import commit_identities, commit_people, teams
from tests.builders import make_approval, make_person, make_policy, open_dangers, set_email

pytestmark = pytest.mark.django_db


def plan_of_push(begun, *, login="carol", email="carol@example.org"):
    stage, review, first, second = begun
    stage.push(first, second, login=login, email=email)
    stage.follow()
    return stage.calculate(review)


def test_editor_cannot_approve_by_a_second_address(begun):
    stage = begun[0]
    carol = make_person("carol", Role.APPROVER)
    set_email("carol", "carol@private.example")
    plan = plan_of_push(begun)
    open_dangers(plan, stage.team.bob)
    with pytest.raises(NotPossibleError, match="no account matches Carol"):
        approving.approve_plan(plan, by=stage.team.bob, digest=plan.digest)

    commit_identities.link(carol, IdentityKind.EMAIL, "CAROL+git@example.org", by=stage.admin)
    carol.refresh_from_db()
    open_dangers(plan, carol)
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=carol, digest=plan.digest)


@pytest.mark.long
def test_editor_cannot_approve_under_a_linked_account(begun):
    stage = begun[0]
    carol, second = make_person("carol"), make_person("carol2", Role.APPROVER)
    set_email("carol", "carol@example.org")
    teams.link_accounts([carol, second], by=stage.admin)
    plan = plan_of_push(begun)
    open_dangers(plan, second)
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=second, digest=plan.digest)


@pytest.mark.long
def test_editor_stays_one_after_the_identity_was_removed(begun):
    stage = begun[0]
    carol = make_person("carol", Role.APPROVER)
    commit_identities.link(carol, IdentityKind.EMAIL, "carol@example.org", by=stage.admin)
    plan = plan_of_push(begun)
    commit_identities.end(CommitIdentity.objects.get(), by=carol)
    make_policy("lax", approvals=1, allows_unknown_editors=True)
    open_dangers(plan, carol)
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=carol, digest=plan.digest)


@pytest.mark.long
def test_name_of_another_author_hides_no_pusher(begun):
    _stage, _review, _first, _second = begun
    mallory = make_person("mallory", Role.APPROVER)
    for name in ("mallory", "carol"):
        if not User.objects.filter(username=name).exists():
            make_person(name)
        set_email(name, f"{name}@example.org")
    plan = plan_of_push(begun, login="mallory", email="mallory@example.org")
    mallory.refresh_from_db()
    open_dangers(plan, mallory)
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=mallory, digest=plan.digest)


def test_database_refuses_the_approval_of_an_editor(begun):
    carol = make_person("carol", Role.APPROVER)
    set_email("carol", "Carol@Example.org")
    plan = plan_of_push(begun)
    with pytest.raises(IntegrityError, match="cannot approve"), transaction.atomic():
        make_approval(plan, carol)
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        CommitEditor.objects.all().delete()
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        CommitEditor.objects.update(email="other@example.org")


@pytest.mark.long
def test_database_refuses_the_approval_of_a_pusher_by_login(begun):
    stage = begun[0]
    dave = make_person("dave", Role.APPROVER)
    commit_identities.link(dave, IdentityKind.LOGIN, "https://localhost/Dave", by=stage.admin)
    plan = plan_of_push(begun, login="dave", email="")
    with pytest.raises(IntegrityError, match="cannot approve"), transaction.atomic():
        make_approval(plan, dave)


@pytest.mark.long
def test_policy_may_allow_unknown_editors_and_a_high_risk_names_them(begun):
    from applyviz.workflow.approvals import acknowledgments  # noqa: PLC0415 - one test

    stage, review, first, second = begun
    make_policy("lax", approvals=1, allows_unknown_editors=True)
    stage.push(first, second, login="carol", email="carol@example.org")
    stage.follow()
    plan = review.plans.order_by("-number").first()
    from applyviz.workflow.plans import planner  # noqa: PLC0415 - one test

    planner.make_plan(plan.pk)
    plan.refresh_from_db()
    kinds = {risk.kind for risk in acknowledgments.find_open(plan)}
    assert kinds == {UNKNOWN_EDITORS}
    assert "Carol" in sentences.describe_all(commit_people.find_unknown(plan))[0]
    with pytest.raises(NotPossibleError, match="1 risk to acknowledge"):
        approving.approve_plan(plan, by=stage.team.bob, digest=plan.digest)
    acknowledgments.acknowledge_risks(plan, UNKNOWN_EDITORS, by=stage.team.bob)
    approving.approve_plan(plan, by=stage.team.bob, digest=plan.digest)
    assert not quorum.count_quorum(plan).missing


@pytest.mark.long
def test_claim_alone_counts_for_nothing(begun):
    carol = make_person("carol", Role.APPROVER)
    commit_identities.claim(IdentityKind.EMAIL, "carol@example.org", by=carol)
    plan = plan_of_push(begun)
    assert "no account matches Carol" in sentences.describe_all(commit_people.find_unknown(plan))[0]


@pytest.mark.long
def test_claims_tell_nothing_about_other_accounts(begun):
    stage = begun[0]
    commit_identities.link(make_person("carol"), IdentityKind.EMAIL, "carol@example.org", by=stage.admin)
    mallory = make_person("mallory", Role.VIEWER)
    client = Client()
    client.force_login(mallory)

    answers = []
    for value in ("carol@example.org", "nobody@example.org"):
        answer = client.post(reverse("claim-identity"), {"kind": "email", "value": value})
        page = client.get(reverse("claim-identity")).content.decode().replace(value, "VALUE")
        answers.append((answer.status_code, answer.headers["Location"]))
        assert "Claimed. An administrator verifies it." in page
    assert answers[0] == answers[1]


def test_mailed_link_is_worth_nothing_to_another_account(begun, settings, mailoutbox):
    from applyviz.workflow.following import identity_mail  # noqa: PLC0415 - one test

    settings.APPLYVIZ_MAIL, settings.APPLYVIZ_URL = True, "https://applyviz.example"
    mallory, carol = make_person("mallory", Role.VIEWER), make_person("carol", Role.VIEWER)
    identity = commit_identities.claim(IdentityKind.EMAIL, "carol@example.org", by=mallory)
    identity_mail.mail_identity(identity.pk)
    identity_mail.mail_identity(identity.pk)
    (mail,) = mailoutbox
    path = next(line for line in mail.body.splitlines() if "/account/" in line).removeprefix("https://applyviz.example")

    client = Client()
    client.force_login(carol)
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 404
    assert CommitIdentity.objects.get().verified_at is None
    client.force_login(mallory)
    assert client.get(path).status_code == 200
    assert CommitIdentity.objects.get().verified_at is None
    assert client.post(path).status_code == 302
    assert CommitIdentity.objects.get().verified_at is not None
    assert client.post(path).status_code == 404


def test_nobody_verifies_their_own_claim_or_links_themselves(begun):
    stage = begun[0]
    identity = commit_identities.claim(IdentityKind.LOGIN, "github.com/root", by=stage.admin)
    with pytest.raises(NotAllowedError):
        commit_identities.verify(identity, by=stage.admin)
    with pytest.raises(NotAllowedError):
        commit_identities.link(stage.admin, IdentityKind.EMAIL, "root@example.org", by=stage.admin)
    with pytest.raises(NotAllowedError):
        commit_identities.verify(identity, by=stage.team.bob)


@pytest.mark.long
def test_second_administrator_confirms_a_link(begun):
    from applyviz.workflow.people import confirmations  # noqa: PLC0415 - one test

    stage = begun[0]
    other, carol = make_person("other", Role.ADMINISTRATOR), make_person("carol", Role.APPROVER)
    waiting = commit_identities.link(carol, IdentityKind.EMAIL, "carol@example.org", by=stage.admin)
    assert waiting is not None
    assert not CommitIdentity.objects.exists()
    with pytest.raises(NotAllowedError):
        confirmations.confirm_change(waiting, by=stage.admin)
    confirmations.confirm_change(waiting, by=other)
    assert CommitIdentity.objects.get().verified_by == stage.admin


@pytest.mark.long
def test_claims_are_limited(begun):
    mallory = make_person("mallory", Role.VIEWER)
    for number in range(commit_identities.MOST_CLAIMS_A_DAY):
        identity = commit_identities.claim(IdentityKind.EMAIL, f"a{number}@example.org", by=mallory)
        commit_identities.end(identity, by=mallory)
    with pytest.raises(TooOftenError):
        commit_identities.claim(IdentityKind.EMAIL, "b@example.org", by=mallory)


@pytest.mark.long
def test_two_people_cannot_have_one_identity(begun):
    stage = begun[0]
    commit_identities.link(make_person("carol"), IdentityKind.EMAIL, "carol@example.org", by=stage.admin)
    with pytest.raises(NotPossibleError, match="belongs to another account"):
        commit_identities.link(make_person("dave"), IdentityKind.EMAIL, "carol@example.org", by=stage.admin)
    with pytest.raises(IntegrityError, match="only ever verified or ended"), transaction.atomic():
        CommitIdentity.objects.update(verified_at=timezone.now())


@pytest.mark.long
def test_reader_of_no_role_learns_nothing_of_following(begun):
    _stage, review, _first, _second = begun
    client = Client()
    client.force_login(make_person("outside"))
    for address in (
        reverse("reviews:follow-branch", args=[review.number]),
        reverse("reviews:follow-branch", args=[99]),
    ):
        assert client.get(address).status_code == 404
        assert client.post(address, {"act": "check"}).status_code == 404
    client.force_login(make_person("viewer", Role.VIEWER))
    address = reverse("reviews:follow-branch", args=[review.number])
    assert client.get(address).status_code == 200
    assert client.post(address, {"act": "stop"}).status_code == 403
    assert branches.find_following(review).ended_at is None
