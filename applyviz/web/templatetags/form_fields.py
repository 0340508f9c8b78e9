"""Fields of forms, with the texts beside them that a screen reader must read too.

Rule: WCAG 2.2, 1.3.1 and 3.3.1: what is written beside a field, a help or an error, belongs to it by its markup.
"""

from __future__ import annotations

from django import template
from django.forms import BoundField
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def described(field: BoundField, help_text: str) -> SafeString:
    """Return the control of a field, described by the help and the errors that the template writes beside it.

    - `help_text`: the help that the template writes; "" where there is none.
    """
    named = (("helptext", help_text), ("error", field.errors))
    found = " ".join(f"{field.auto_id}_{name}" for name, text in named if text)
    return field.as_widget(attrs={"aria-describedby": found} if found else None)
