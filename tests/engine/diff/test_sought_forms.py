"""A text is not searched for a form of which it contains no part: what is found stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from applyviz.engine.diff import credentials, text_forms
from applyviz.engine.diff.sought_forms import SoughtForm
from applyviz.engine.diff.text_forms import find_parts
from tests.engine.diff.test_shapes_of_credentials import TEXTS

FORMS = [
    form
    for listed in (
        [form for _, form in (*text_forms.GROUPS, *text_forms.WHOLE)],
        [*text_forms.NAMED, *text_forms.TURNED, text_forms.DSNS],
    )
    for form in listed
]


def _list_parts(form: SoughtForm, small: str) -> frozenset[str]:
    """Return the parts that a text contains; a name that is sought may be any."""
    if form in (*text_forms.NAMED, *text_forms.TURNED):
        return frozenset(need for need in form.needs if need in small)
    sought = find_parts(small)
    assert sought is not None
    return sought.parts


@pytest.mark.core(13)
@pytest.mark.covering
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.expression.pattern[:40])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_match_contains_what_is_needed(form: SoughtForm, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(form.expression.pattern, form.expression.flags)))
    if form.expression.search(text):  # what looks behind is not always generated
        assert [match.span() for match in form.find(text, _list_parts(form, text.lower()))] == [
            match.span() for match in form.expression.finditer(text)
        ]


def _redact(text: str) -> tuple[str, list[tuple[str, str]]]:
    found: list[tuple[str, str]] = []

    def mask(credential: str, name: str) -> str:
        found.append((credential, name))
        return "•"

    return credentials.redact(text, mask), found


@pytest.mark.parametrize("text", TEXTS)
def test_credentials_are_the_same_when_everything_is_searched(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = _redact(text)

    def find(form: SoughtForm, text: str, parts: frozenset[str]) -> Iterable[object]:
        return form.expression.finditer(text)

    monkeypatch.setattr(SoughtForm, "find", find)
    assert _redact(text) == chosen
