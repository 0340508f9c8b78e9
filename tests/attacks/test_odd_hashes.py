"""Where the database or a caller gives a hash or a MAC, any text may be there: it is refused, and nothing fails."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from applyviz import clock
from applyviz.clusters import sandbox
from applyviz.records import keyed_hashes, triggers
from applyviz.records.enums import TokenScope
from applyviz.records.git_enums import ForgeKind, IdentityKind
from applyviz.records.models import (
    AccountClaim,
    ApiToken,
    Approval,
    Cluster,
    CommitIdentity,
    Plan,
    SourceFile,
    SourceRevision,
)
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.audit import checkpoints
from applyviz.workflow.following import payloads
from applyviz.workflow.foundation.errors import NotValidError, NotVisibleError
from applyviz.workflow.people import claims, commit_identities, tokens
from applyviz.workflow.plans import reviews, source_digests
from applyviz.workflow.runs.plan_integrity import find_difference
from applyviz.workflow.runs.run_content import RunContent
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
ODD = "é" * 60
TEXT = config_map(a="1")


@pytest.fixture
def plan(team: Team, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of a file; the attacker holds the database, without any key."""
    found = team.wire_up(monkeypatch).plan(TEXT)
    triggers.lift("default")
    return found


def test_texts_are_compared_as_they_are() -> None:
    texts = ("", "a", "é", "\ud800", "?", ODD)

    assert [keyed_hashes.is_same(one, other) for one in texts for other in texts].count(True) == len(texts)


def test_nothing_else_compares_in_constant_time() -> None:
    """`hmac.compare_digest` raises `TypeError` for text that is not ASCII: it has one caller."""
    root = Path(settings.BASE_DIR) / "applyviz"
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if "compare_digest" in path.read_text()}

    assert found == {"records/keyed_hashes.py"}


def test_digests_of_sources_are_compared(team: Team, plan: Plan) -> None:
    SourceFile.objects.update(digest=ODD)
    SourceRevision.objects.update(digest=ODD)
    bundle = SourceBundle((BundledFile("0.yaml", TEXT.encode()),))

    compared = source_digests.compare_file(plan, by=team.alice, name="0.yaml", data=TEXT.encode())

    assert compared.equal_to == ()
    assert not reviews.has_same_bytes(SourceRevision.objects.get(), bundle)


@pytest.mark.parametrize(
    ("what", "differing"), [("digest", "its digest"), ("seal", ""), ("risk_seal", ""), ("summary_seal", "its summary")]
)
def test_odd_digest_or_mac_of_a_plan_is_named(team: Team, plan: Plan, what: str, differing: str) -> None:
    """Without a matching MAC of the objects, all of them are derived again."""
    run = team.start(plan)
    Plan.objects.filter(pk=plan.pk).update(**{what: ODD})
    if what == "digest":
        Approval.objects.update(digest=ODD)

    run.refresh_from_db()

    assert find_difference(run, RunContent(run)) == differing


def test_odd_hashes_of_tokens_and_links_open_nothing(team: Team) -> None:
    triggers.lift("default")
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.READ, days=7)
    secret = claims.recover(team.alice, reason="lost")
    identity = commit_identities.claim(IdentityKind.EMAIL, "alice@example.org", by=team.alice)
    until = clock.now() + timedelta(hours=1)
    ApiToken.objects.update(token_hash=ODD)
    AccountClaim.objects.update(token_hash=ODD)
    CommitIdentity.objects.filter(pk=identity.pk).update(token_hash=ODD, token_until=until)
    Cluster.objects.update(token_hash=ODD)

    assert not tokens.is_valid(text)
    assert not sandbox.is_token_of(Cluster.objects.get(), "token")
    for find in (lambda: claims.find_claim(secret), lambda: commit_identities.find_mailed("token", by=team.alice)):
        with pytest.raises(NotVisibleError):
            find()


def test_odd_signatures_are_not_ours(db: None) -> None:
    signed = checkpoints.publish(by=None)
    assert signed is not None

    with pytest.raises(NotValidError, match="was not signed by this installation"):
        checkpoints.read_published([str(signed).replace(signed.key, ODD)])
    for forge, name in ((ForgeKind.GITLAB, "X-Gitlab-Token"), (ForgeKind.GITHUB, "X-Hub-Signature-256")):
        assert not payloads.is_genuine(forge, {name: ODD}, b"{}", "the-secret")
