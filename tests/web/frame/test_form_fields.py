"""Screen readers find the help and the error of a field."""

import re

import pytest
from django import forms
from django.template.loader import render_to_string
from django.urls import reverse


class _Form(forms.Form):
    name = forms.CharField(max_length=3, help_text="Lower-case letters.")
    plain = forms.CharField()
    days = forms.MultipleChoiceField(choices=[("1", "Mon"), ("2", "Tue")], widget=forms.CheckboxSelectMultiple)


def _render(form: forms.Form, name: str, template: str = "components/_field.html", **context: object) -> str:
    return render_to_string(template, {"field": form[name], **context})


def _describing(text: str) -> list[list[str]]:
    return [found.split() for found in re.findall(r'aria-describedby="([^"]*)"', text)]


@pytest.mark.parametrize("template", ["components/_field.html", "components/_tick.html", "reviews/_text_field.html"])
def test_help_that_a_template_writes_describes_its_field(template):
    text = _render(_Form(), "plain", template, help="As in kubectl.")

    assert _describing(text) == [["id_plain_helptext"]]
    assert 'id="id_plain_helptext">As in kubectl.<' in text


def test_help_and_error_both_describe_a_field():
    text = _render(_Form({"name": "abcd", "plain": "a"}), "name")

    assert _describing(text) == [["id_name_helptext", "id_name_error"]]
    assert ("Lower-case letters." in text, 'id="id_name_error"' in text) == (True, True)


def test_field_without_help_and_error_is_described_by_nothing():
    assert _describing(_render(_Form(), "plain")) == []


def test_help_of_several_boxes_describes_each():
    assert _describing(_render(_Form(), "days", help="Any.")) == [["id_days_helptext"]] * 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reader", "address"),
    [
        ("as_alice", "reviews:add-review"),
        ("as_alice", "playground:ask-channel"),
        ("as_dana", "settings:add-webhook"),
        ("as_dana", "clusters:add-cluster"),
    ],
)
def test_everything_that_describes_a_field_of_a_page_is_there(request, reader, address):
    page = request.getfixturevalue(reader).get(reverse(address)).content.decode()
    helps = set(re.findall(r'id="(\w+_helptext)"', page))
    described = {name for names in _describing(page) for name in names}

    assert helps
    assert helps <= described
    assert {name for name in described if f'id="{name}"' not in page} == set()
