"""An author guesses values of a live Secret: nothing that a plan stores or shows may depend on whether a guess fits.

Threat N1: a connection string was read completely in 37 plans, because an annotation was masked when it shared eight
characters with a value of the same object.
"""

from __future__ import annotations

import json
import re
from difflib import unified_diff

import pytest
import time_machine
import yaml

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Refusal, Versions
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.models import Plan
from applyviz.workflow.plans.changes import read_masked
from tests.pace import measure
from tests.stories import Team, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
URL = "postgres://app:q7Rz0xWv@db/shop"
GUESSES = [URL[:20], URL, "q7Rz0xWv", "0xWv@db/shop", "cG9zdGdyZXM6Ly9hcHA6cTdSejB4V3Y", "q7Rz0xWv\\n"]
REF = ObjectRef(GroupVersionKind("", "v1", "Secret"), "default", "login")


def guessing(text: str) -> str:
    """A manifest that names the Secret, says nothing of its values, and guesses in an annotation."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "login", "annotations": {"guess": text, "more": json.dumps({"note": text})}},
        }
    )


def differ(first: str, second: str) -> list[str]:
    """The lines that two shapes do not share."""
    return [line for line in unified_diff(first.split(", "), second.split(", "), lineterm="", n=0) if line[:1] in "+-"]


def shape_of(plan: Plan, guess: str) -> str:
    """All that is stored of a plan for showing, with the guess and every tag made the same."""
    rows = [
        [row.operation, row.has_effect, row.conflicts, row.risks, row.error, row.document] for row in plan.changes.all()
    ]
    text = json.dumps([rows, plan.counts, plan.details.impact], ensure_ascii=False)
    for written in (
        json.dumps(json.dumps(json.dumps(guess)))[1:-1],
        json.dumps(json.dumps(guess))[1:-1],
        json.dumps(guess)[1:-1],
        guess,
    ):
        text = text.replace(written.strip('"\\'), "GUESS")
    text = re.sub(r"masked( [0-9a-f]{12})?", "masked", text)
    return re.sub(r'"(uid|resourceVersion|time|creationTimestamp)": "[^"]*"|\d+-\d+-\d+T[\d:]+Z', "", text)


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@time_machine.travel("2026-11-20T09:30:00Z", tick=False)  # a plan that takes a second longer tells of the second
def test_whether_a_guess_fits_cannot_be_told_from_a_plan(team: Team, mode: ApplyMode) -> None:
    team.apply(secret(url=URL), mode=mode)
    shapes = {}

    for guess in GUESSES:
        wrong = guess.replace("z", "y").replace("W", "V").replace("S", "T")
        assert wrong != guess
        for text in (guess, wrong):
            plan = team.plan(guessing(text), mode=mode)
            (row,) = plan.changes.all()
            shown = json.dumps(read_masked(row).versions.manifest)
            assert json.dumps(text)[1:-1] in shown or "://" in text  # a password in an address is masked by its form
            shapes[text] = shape_of(plan, text)
        lines = differ(shapes[guess], shapes[wrong])
        assert not lines, "\n".join(lines)


def noting(**notes: str) -> str:
    """A manifest of the Secret that sets annotations, and no value."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "annotations": notes}})


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not named"])
def test_annotations_of_an_approved_run_read_no_pin(team: Team, mode: ApplyMode, is_named: bool) -> None:
    """Forty guesses in one run: the next plan showed the wrong ones, and masked the right one."""
    live = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": {"pin": "7351"}}
    assert team.send(Request("POST", "/api/v1/namespaces/default/secrets", body=live)).is_ok
    guesses = {f"guess-{pin}": f'is it "{pin}"' for pin in range(7340, 7380)}
    run = team.apply(noting(**guesses), mode=mode)

    plan = team.plan(noting(**(guesses if is_named else {"other": "text"})), mode=mode)

    (row,) = plan.changes.all()
    shown = read_masked(row).versions.live
    masked = {name: is_masked(text) for name, text in shown["metadata"]["annotations"].items() if "guess" in name}
    assert (len(masked), len(set(masked.values()))) == (40, 1)
    assert is_named != any(masked.values()) or mode is ApplyMode.CLIENT  # last applied shows them as well
    texts = [json.dumps(one.answer, ensure_ascii=False) for one in run.results.get().journal.all()]
    for text in texts:
        kept = [pin for pin, note in guesses.items() if json.dumps(note)[1:-1] in text]
        assert len(kept) in (0, 40)


def make_change(**values: object) -> PlannedObject:
    live = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"url": "cTdSejB4V3Y="}}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": {"url": "other-one"}}
    return PlannedObject(REF, Operation.ERROR, Versions(manifest=manifest, live=live), **values)


@pytest.mark.parametrize("said", ["q7Rz0xWv is wrong", "cTdSejB4V3Y=", "other-one is weak", "nothing of the kind"])
def test_words_of_a_server_are_withheld_whatever_they_say(said: str) -> None:
    change = make_change(
        error=f"the live object could not be read: {said}",
        refusal=Refusal(422, "Invalid"),
        warnings=(said,),
        certainty_reason=f"a dry run is not allowed here: {said}",
    )

    shown = mask_change(change, tag_key=b"k" * 32)

    assert said not in str(shown)
    assert "422 Invalid" in shown.error
    assert shown.certainty_reason.startswith("a dry run is not allowed here; ")


def test_thousands_of_annotations_are_masked_in_linear_time() -> None:
    annotations = {f"a{n}": f'{{"kind": "Secret", "note": "value {n} of many"}}' for n in range(2_000)}
    values = {f"k{n}": f"value-{n:06d}-of-a-secret" for n in range(2_000)}
    big = {"kind": "Secret", "metadata": {"name": "login", "annotations": annotations}, "stringData": values}
    change = PlannedObject(REF, Operation.UPDATE, Versions(manifest=big, live=big, merged=big, after=big))

    _, seconds = measure(lambda: mask_change(change, tag_key=b"k" * 32))

    assert seconds < 10


HOSTILE = {
    "lines": "\n" * 500_000,
    "kinds": "kind: Secret\n" * 40_000,
    "braces": '{"' * 250_000,
    "letters": "data" * 100_000,
    "escapes": "\\n" * 250_000,
    "a number of lines": "[1,2" + "\n" * 500_000 + "x",
    "numbers": "1, " * 150_000 + "x",
    "hex": "0x" * 250_000,
    "bits": "00000000 " * 50_000 + "x",
    "an endless entity": "&#" + "9" * 500_000 + ";",
    "entities": "&#x41;" * 80_000,
    "percents": "%41" * 150_000,
    "quoted-printable": "=41" * 150_000,
    "dense": "!" * 24 + "<~" * 250_000,
    "base32": "A" * 500_000 + "!",
    "blanks in pieces": ("a" * 24 + " " * 500) * 900,
}


@pytest.mark.core(3)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_masked_in_linear_time(text: str) -> None:
    obj = {"kind": "Secret", "metadata": {"annotations": {"x": text}}, "data": {"k": text}}
    change = PlannedObject(REF, Operation.UPDATE, Versions(manifest=obj))

    _, seconds = measure(lambda: mask_change(change, tag_key=b"k" * 32))

    assert seconds < 10


def test_many_guesses_in_one_plan_have_no_tag_in_common_with_live(team: Team) -> None:
    team.apply(secret(url=URL))
    inner = {
        f"guess-{n}": json.dumps({"kind": "Secret", "stringData": {"url": guess}}) for n, guess in enumerate(GUESSES)
    }
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "annotations": inner}})

    (row,) = team.plan(text).changes.all()

    versions = read_masked(row).versions
    (tag,) = re.findall("masked ([0-9a-f]{12})", json.dumps((versions.live or {})["data"]))
    assert tag not in json.dumps(versions.manifest)
