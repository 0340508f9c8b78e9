"""The check that every test of pages runs under: no template names a field that does not exist."""

from dataclasses import dataclass

from django import forms
from django.template import Context, Engine

from tests.web.template_names import note_missing


@dataclass(frozen=True, slots=True)
class Shown:
    approval: str = "two people"


class _Form(forms.Form):
    name = forms.CharField(required=False)


def find_missing(text: str, **parts: object) -> set[str]:
    template = Engine.get_default().from_string(text)
    with note_missing() as missing:
        template.render(Context(parts))
    return {one.partition(": ")[2] for one in missing}


def test_field_that_a_read_model_lacks_is_found_wherever_a_template_asks_for_it():
    for text in (
        "{{ page.consent.needs }}",
        "{% if page.consent %}{% endif %}",
        "{% if not page.consent or page.approval %}{% endif %}",
        "{% for need in page.consent.needs %}{% empty %}No approval required.{% endfor %}",
        "{% with needs=page.consent %}{% endwith %}",
    ):
        assert [one.rpartition(" (")[2] for one in find_missing(text, page=Shown())] == ["Shown has no consent)"], text


def test_field_of_no_form_is_found_and_one_that_is_left_out_or_valid_is_none():
    form = _Form({})
    assert find_missing("{{ form.errors.name }}{{ form.name }}", form=form) == set()
    assert len(find_missing("{{ form.errors.nothing }}{{ form.nothing }}", form=form)) == 2

    del form.fields["name"]
    assert find_missing("{% if form.name %}{% endif %}", form=form) == set()


def test_what_exists_or_may_be_absent_is_no_fault():
    text = "{{ page.approval }}{{ none.name }}{% if many.7 %}{% endif %}{{ keys.some }}{% if is_part %}{% endif %}"

    assert find_missing(text, page=Shown(), none=None, many=(1,), keys={}) == set()
