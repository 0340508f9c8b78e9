"""What templates look up in read models: every field that they name must exist.

Rule: Django renders a missing field as nothing, and `{% if %}` takes it for false: a page then states the opposite of
what its read model says, and nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.forms import BaseForm
from django.forms.utils import ErrorDict
from django.template import Variable, VariableDoesNotExist
from django.template.context import BaseContext

_resolve = Variable._resolve_lookup  # type: ignore[attr-defined]  # no part of its stubs


def _list_forms(parent: type[BaseForm] = BaseForm) -> Iterator[type[BaseForm]]:
    for form in parent.__subclasses__():
        yield form
        yield from _list_forms(form)


def _is_field(name: str) -> bool:
    """Whether some form has a field of this name: templates that several forms share ask for it."""
    return any(name in getattr(form, "base_fields", ()) for form in _list_forms())


def _may_lack(value: object, name: str, variable: Variable, context: BaseContext) -> bool:
    """Whether a template may ask a value for what it does not have.

    - Nothing has no fields, a mapping may lack a key, a sequence a position, and a partial template a part of its page.
    - A form may leave out a field of another form, and a valid field has no errors; a field of no form is a fault.
    """
    if isinstance(value, ErrorDict):
        before = variable.lookups[: variable.lookups.index("errors")]
        form = Variable(".".join(before)).resolve(context)
        return name in type(form).base_fields
    if isinstance(value, BaseForm):
        return _is_field(name)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return name.isdigit()
    return value is None or value == "" or isinstance(value, Mapping | BaseContext)


@contextmanager
def note_missing() -> Iterator[set[str]]:
    """Note each variable that names a field which its value does not have, with its page and the class of the value."""
    missing: set[str] = set()

    def resolve(variable: Variable, context: Any) -> object:
        try:
            return _resolve(variable, context)
        except VariableDoesNotExist as error:
            name, value = error.params
            if not _may_lack(value, name, variable, context):
                missing.add(f"{context.template_name}: {variable.var} ({type(value).__name__} has no {name})")
            raise

    with patch.object(Variable, "_resolve_lookup", resolve):
        yield missing
