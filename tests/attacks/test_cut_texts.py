"""Text of helm and kustomize is cut to a length: no half of a credential is shown where it is cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from io import BytesIO

import pytest

from applyviz.engine.diff import given_credentials, repeating
from applyviz.engine.diff.given_credentials import MASK
from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts import rendering
from applyviz.sources.charts.model import ChartSource, ChartTarget
from applyviz.sources.kustomize import render
from applyviz.sources.rendering import isolation, service
from applyviz.sources.rendering.job import HELM, Rendered, RenderJob, read_line, write_job
from applyviz.workflow.plans.chart_notes import MOST, MOST_WARNINGS, mask_notes
from tests.attacks.test_repeated_values import CANARY, PACKAGES, say

pytestmark = pytest.mark.attacks
LONG = f"{CANARY}-0123456789-0123456789-0123456789"
# Where a text is cut, so that a credential may be divided there.
CUTS = (15, 5, -5)


@pytest.mark.parametrize("most", [MOST, MOST_WARNINGS])
@pytest.mark.parametrize("before", CUTS)
def test_cut_notes_show_no_half_credential(most: int, before: int) -> None:
    for rest in ("", " tail", " x" * 100_000):
        shown = mask_notes("x" * (most - before - 1) + f" {LONG}{rest}", [], [f"password: {LONG}".encode()], most=most)

        assert LONG[:5] not in shown
        assert len(shown) <= most


@pytest.mark.core(1)
@pytest.mark.parametrize("written", ["x " * 40_000, f"{LONG} " * 900])
def test_end_of_what_is_read_of_notes_shows_no_half_credential(written: str) -> None:
    """However short the text becomes by what is hidden in it, the end that was read is dropped."""
    for size in range(len(LONG)):
        notes = f"{written}{'y' * size}".ljust(MOST + given_credentials._BEYOND - 20, "z")[: MOST + 64 * 1024 - 20]
        shown = mask_notes(f"{notes}{LONG}{LONG}", [], [f"password: {LONG}".encode()])

        assert LONG[:5] not in shown


def test_credential_that_is_longer_than_what_is_read_hides_the_notes() -> None:
    long = "q7Rz0xWv" * 10_000

    assert mask_notes("x" * (MOST - 20) + long + "x" * 100_000, [], [f"password: {long}".encode()]) == MASK


def test_forms_of_each_credential_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart may have a million of them; before, each cost twice as much where a text is cut."""
    made: list[str] = []
    original = repeating.list_forms
    monkeypatch.setattr(given_credentials, "list_forms", lambda value: made.append(value) or original(value))
    values = [f"{LONG}-{number}" for number in range(50)]

    given_credentials.hide_and_cut("x " * 100_000, values, MOST)

    assert sorted(made) == sorted(values)


def test_long_parts_of_a_text_are_listed_only_for_many_searches() -> None:
    """In a text of hexadecimal digits, the shortest parts refuse nothing that consists of them."""
    digits = random.Random(1)
    text = "".join(digits.choices("0123456789abcdef", k=100_000))
    there = [text[at : at + 30] for at in range(0, 90_000, 1_000)]
    missing = ["".join(digits.choices("0123456789abcdef", k=30)) for _ in range(5_000)]
    windows, words = given_credentials._Windows(text), given_credentials._Windows(text)

    assert [part for part in (*there, *missing) if windows.hold(part) != (part in there)] == []
    assert windows._searches <= len(there) + 2 * given_credentials._FEW
    assert not any(words.hold(f"{LONG}{number}") for number in range(5_000))
    assert list(words._of_size) == [4]


def fail_helm(errors: str) -> str:
    """The error of a review for a chart that helm does not render."""
    package = PACKAGES["folder"](f"password: {LONG}\n")
    with pytest.raises(SourceError) as raised:
        rendering.render(package, ChartSource("shop"), {}, target=ChartTarget("default"), run=say(errors))
    return str(raised.value)


def fail_kustomize(errors: str) -> str:
    """The error of a review for a kustomization that kustomize does not render."""
    files = {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": f"password: {LONG}\n"}
    bundle = SourceBundle(tuple(BundledFile(name, text.encode(), {}) for name, text in files.items()))
    with pytest.raises(SourceError) as raised:
        render(bundle, run=say(errors))
    return str(raised.value)


@pytest.mark.parametrize("before", range(255, 300, 11))
def test_cut_errors_show_no_half_credential(before: int) -> None:
    """At both ends of what is left out in the middle, and in the last line where there is no other."""
    for said in (f"Error: {'x' * before} {LONG}{' z' * 300}", f"Error: {'x ' * 300}{LONG} {'z' * before}"):
        shown = fail_helm(said)

        assert "…" in shown
        assert LONG[:5] not in shown
        assert LONG[-11:] not in shown


@pytest.mark.parametrize("fail", [fail_helm, fail_kustomize])
def test_cut_last_line_shows_no_half_credential(fail: Callable[[str], str]) -> None:
    assert LONG[:5] not in fail(f"{'x' * 580} {LONG} more")


def test_service_hands_errors_on_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a program may print, at its longest on the way; hidden and cut is only what a page shows of it."""
    errors = f"Error: {LONG} ".ljust(isolation._MOST_ERRORS, "\ufffd")
    monkeypatch.setattr(isolation, "find_obstacle", lambda: "")
    monkeypatch.setattr(isolation, "run_isolated", lambda *_: Rendered(1, b"", errors))
    monkeypatch.setattr(service, "find_command", lambda _: ["helm"])

    answer = read_line(BytesIO(service.Renderer().answer(BytesIO(write_job(RenderJob(HELM, (), ()))))))

    assert (answer["code"], answer["errors"]) == (1, errors)
