"""The form of requested reviewers: the people who are asked, and the name to look for."""

from __future__ import annotations

from collections.abc import Collection

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

FIND = "find"
"""The act of the button that only looks for a name; everything else saves."""


class ReviewersForm(forms.Form):
    """The accounts that are asked; `name` narrows the list that is shown, and saves nothing."""

    name = forms.CharField(label=_("Find by name"), max_length=150, required=False)
    reviewers = forms.TypedMultipleChoiceField(
        label=_("Reviewers"),
        coerce=int,
        required=False,
        error_messages={"invalid_choice": _("Choose people from the list.")},
    )

    def __init__(self, given: QueryDict | None, offered: Collection[int], asked: Collection[int]) -> None:
        super().__init__(given)
        # One sentence for every number that was not offered: whether there is such an account stays unknown.
        self.fields["reviewers"].choices = [(pk, pk) for pk in offered]  # type: ignore[attr-defined]
        self._checked = asked if given is None else given.getlist("reviewers")

    @property
    def is_search(self) -> bool:
        """Return whether the form only looks for a name."""
        return self.data.get("act") == FIND

    @property
    def wanted(self) -> str:
        """Return the name that is looked for."""
        return str(self.data.get("name", "")).strip()

    @property
    def checked(self) -> frozenset[str]:
        """Return the accounts that are checked, as the form sends them."""
        return frozenset(str(one) for one in self._checked)
