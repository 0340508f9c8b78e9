"""Manifests are parsed once; a parsed form that was moved, changed or forged is never used."""

import logging
import zlib

import pytest

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.fields import seal_for
from applyviz.records.models import LiveComparison, ParsedSource, SourceFile
from applyviz.records.sealing import Unsealed
from applyviz.sources import sandboxed
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.child import ChildLimits
from applyviz.sources.wire import encode_file
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.plans import calculation, intake, planner, reviews
from applyviz.workflow.plans.source_runs import parsed_sources
from tests.keyless import KeylessWeb
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db


@pytest.fixture
def parsed(monkeypatch):
    """The bundles that were parsed in a child."""
    found = []

    def read(bundle):
        found.append(bundle)
        return sandboxed.read_files(bundle)

    monkeypatch.setattr(parsed_sources, "read_files", read)
    return found


def read_again(plan):
    return parsed_sources.parse_source(plan.revision, calculation.load_bundle(plan.revision))


def forge(plan, text):
    """The parsed form of other manifests, sealed for this revision by somebody with the key of a web process."""
    (file,) = sandboxed.read_files(SourceBundle((BundledFile("0.yaml", text.encode()),))).files
    row = ParsedSource.objects.get(revision=plan.revision)
    return seal_for(row, "content", Unsealed.of_bytes(zlib.compress(encode_file(file).rstrip())))


def test_plan_run_replan_and_comparison_parse_the_manifests_once(team, parsed):
    plan = team.plan(config_map(a="1"), config_map("other", b="1"))
    plan_comparison.request_comparison(plan)
    plan_comparison.compare_plan(LiveComparison.objects.get().pk)
    again = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(again.pk)
    again.refresh_from_db()
    run = team.work(team.start(again))

    assert (len(parsed), again.revision_id == plan.revision_id, run.state) == (1, True, "applied")
    assert (again.digest, LiveComparison.objects.get().error) == (plan.digest, "")
    assert team.live()["data"] == {"a": "1"}


def test_kept_form_is_what_was_parsed(team, parsed):
    plan = team.plan(config_map(a="1"), "a: [b\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")

    assert read_again(plan) == sandboxed.read_files(calculation.load_bundle(plan.revision)).files
    assert len(parsed) == 1


def open_from_intake(team, text):
    """A review of a text that the intake reads, as forms and the API open it."""
    taken = intake.read_manifests(intake.ReviewInput(text=text), by=team.alice)
    return reviews.create_review(
        by=team.alice,
        title="x",
        reason="",
        ticket="",
        cluster=team.cluster,
        options=ApplyOptions(),
        bundle=taken.bundle,
    )


def test_plan_uses_how_the_intake_read_the_files(team, parsed):
    text = config_map(a="1") + "---\na: [b\n"
    review = open_from_intake(team, text)
    planner.make_plan(review.plans.get().pk)
    plan = review.plans.get()

    assert (parsed, len(plan.problems)) == ([], 1)
    assert read_again(plan) == sandboxed.read_files(calculation.load_bundle(plan.revision)).files
    other = team.plan(text)
    assert [row.effect for row in other.changes.all()] == [row.effect for row in plan.changes.all()]
    assert len(parsed) == 1  # of the plan that no intake read


def test_intake_without_the_key_of_workers_keeps_nothing(team, parsed, settings):
    web = KeylessWeb(settings)
    review = open_from_intake(team, config_map(a="1"))

    assert not ParsedSource.objects.exists()
    with web.as_worker():
        planner.make_plan(review.plans.get().pk)
    assert (len(parsed), ParsedSource.objects.count()) == (1, 1)


def test_intake_keeps_nothing_of_files_that_a_limit_ended(team, parsed, monkeypatch):
    impatient = ChildLimits(wall_seconds=-1.0)  # over before it begins, however fast the child is
    monkeypatch.setattr(intake, "read_files", lambda bundle: sandboxed.read_files(bundle, child_limits=impatient))
    review = open_from_intake(team, config_map(a="1"))

    assert not ParsedSource.objects.exists()
    planner.make_plan(review.plans.get().pk)
    assert (len(parsed), review.plans.get().counts) == (1, {"create": 1})


def _move(plan, other):
    ParsedSource.objects.filter(revision=plan.revision).update(content=other.content)


def _move_all(plan, other):
    ParsedSource.objects.filter(revision=plan.revision).update(content=other.content, mac=other.mac)


def _change_hash(plan, other):
    ParsedSource.objects.filter(revision=plan.revision).update(mac="0" * 64)


def _forge(plan, other):
    ParsedSource.objects.filter(revision=plan.revision).update(content=forge(plan, config_map(a="666")))


def _forge_with_hash(plan, other):
    ParsedSource.objects.filter(revision=plan.revision).update(mac="0" * 64)
    ParsedSource.objects.filter(revision=plan.revision).update(content=forge(plan, config_map(a="666")))


def _damage(plan, other):
    token = ParsedSource.objects.get(revision=plan.revision).content.token
    middle = len(token) // 2
    damaged = token[:middle] + (b"B" if token[middle : middle + 1] == b"A" else b"A") + token[middle + 1 :]
    ParsedSource.objects.filter(revision=plan.revision).update(content=type(other.content)(damaged))


def _change_file(plan, other):
    file = SourceFile.objects.get(revision=plan.revision)
    content = seal_for(file, "content", Unsealed.of_bytes(config_map(a="1").encode() + b"# another comment\n"))
    SourceFile.objects.filter(pk=file.pk).update(content=content)


ATTACKS = [_move, _move_all, _change_hash, _forge, _forge_with_hash, _damage, _change_file]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_form_that_does_not_fit_is_parsed_again_and_replaced(team, parsed, caplog, attack):
    other = ParsedSource.objects.get(revision=team.plan(config_map(a="666")).revision)
    plan = team.plan(config_map(a="1"))
    parsed.clear()

    attack(plan, other)
    with caplog.at_level(logging.WARNING, parsed_sources.__name__):
        (file,) = read_again(plan)

    assert [document.obj["data"] for document in file.documents] == [{"a": "1"}]
    assert (len(parsed), [record.message.count("is not used") for record in caplog.records]) == (1, [1])
    assert [document.obj["data"] for document in read_again(plan)[0].documents] == [{"a": "1"}]
    assert len(parsed) == 1


@pytest.mark.core(1)
@pytest.mark.parametrize("attack", [_move_all, _forge_with_hash])
def test_run_with_a_forged_form_applies_what_was_reviewed(team, parsed, attack):
    other = ParsedSource.objects.get(revision=team.plan(config_map(a="666")).revision)
    plan = team.plan(config_map(a="1"))
    run = team.start(plan)

    attack(plan, other)
    run = team.work(run)

    assert (run.state, team.live(SETTINGS)["data"]) == ("applied", {"a": "1"})


def test_form_of_another_version_of_the_reader_is_parsed_again(team, parsed, monkeypatch):
    plan = team.plan(config_map(a="1"))
    monkeypatch.setattr(parsed_sources, "name_reader", lambda: "another version")

    assert [file.documents[0].ref.name for file in read_again(plan)] == ["settings"]
    assert (len(parsed), ParsedSource.objects.get().reader) == (2, "another version")


def test_form_under_another_digest_key_is_parsed_again(team, parsed, settings):
    plan = team.plan(config_map(a="1"))
    settings.APPLYVIZ_DIGEST_KEY = "another key " * 4

    read_again(plan)

    assert len(parsed) == 2


def test_nothing_is_kept_of_files_that_a_limit_ended(team, monkeypatch):
    impatient = ChildLimits(wall_seconds=-1.0)  # over before it begins, however fast the child is
    monkeypatch.setattr(
        parsed_sources, "read_files", lambda bundle: sandboxed.read_files(bundle, child_limits=impatient)
    )
    plan = team.plan(config_map(a="1"))

    assert (plan.changes.count(), len(plan.problems), ParsedSource.objects.count()) == (0, 1, 0)


def test_kept_form_holds_no_secret_in_plain_text(team):
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {token: hunter2hunter2}\n"
    plan = team.plan(secret)

    row = ParsedSource.objects.get(revision=plan.revision)

    assert b"hunter2" in zlib.decompress(row.content.open_bytes())
    assert b"hunter2" not in row.content.token
