"""Forms of comments: a new one on an object, a field or lines of the plan, and an edit."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from applyviz.workflow.approvals.commented_lines import CommentedLines, LineText
from applyviz.workflow.approvals.comments import LONGEST


class EditForm(forms.Form):
    """The text of a comment."""

    text = forms.CharField(
        label=_("Comment"),
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("*emphasis*, `code`, lists and links"),
        error_messages={"required": _("Enter a comment.")},
    )


class CommentForm(EditForm):
    """A new comment, with the object of the plan, and its field or its lines: `side` names their text."""

    position = forms.IntegerField(required=False, min_value=0)
    field = forms.IntegerField(required=False, min_value=0)
    side = forms.ChoiceField(required=False, choices=[(one.value, one.value) for one in LineText])
    first = forms.IntegerField(required=False, min_value=1)
    last = forms.IntegerField(required=False, min_value=1)
    collect = forms.BooleanField(required=False)

    def clean(self) -> dict[str, object]:
        """Read the lines, in either order; without a last one it is the first."""
        given = super().clean() or self.cleaned_data
        side, first = given.get("side"), given.get("first")
        given["lines"] = None
        if side and first:
            last = given.get("last") or first
            given["lines"] = CommentedLines(LineText(side), min(first, last), max(first, last))
        elif side:
            self.add_error("first", _("Choose the lines."))
        return given


class LinesForm(forms.Form):
    """The lines in an address: their text, and the first and last one if they are chosen."""

    text = forms.ChoiceField(choices=[(one.value, one.value) for one in LineText])
    first = forms.IntegerField(required=False, min_value=1)
    last = forms.IntegerField(required=False, min_value=1)


class SendForm(forms.Form):
    """The comment on the review that goes with the collected ones; `digest`: also request changes of that plan."""

    note = forms.CharField(
        label=_("Comment on the review"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 3})
    )
    digest = forms.CharField(required=False, max_length=80)

    def clean(self) -> dict[str, object]:
        """Ask for a comment where changes are requested."""
        given = super().clean() or self.cleaned_data
        if given.get("digest") and not given.get("note", "").strip():
            self.add_error("note", _("Say what needs to change."))
        return given
