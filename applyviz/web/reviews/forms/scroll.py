"""The query of the Changes tab: its fields, its view, the part of the scroll, and objects marked as viewed."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms

from applyviz.web.reviews.forms.reviews import ObjectForm, ObjectListForm
from applyviz.web.reviews.pages.scroll_parts import ScrollChoice, show_first
from applyviz.web.reviews.pane.flat_rows import RowFilter
from applyviz.web.reviews.pane.object_content import SCROLL_VIEWS, ObjectView

_MOST = 1_000_000


class ScrollForm(forms.Form):
    """The query of the Changes tab beside the filters of the list."""

    show = forms.ChoiceField(choices=[(f.value, f.value) for f in RowFilter], required=False)
    view = forms.ChoiceField(choices=[(v.value, v.value) for v in SCROLL_VIEWS], required=False)
    start = forms.IntegerField(required=False, min_value=0, max_value=_MOST)
    at = forms.IntegerField(required=False, min_value=0, max_value=_MOST)
    only = forms.IntegerField(required=False, min_value=0, max_value=_MOST)
    alone = forms.BooleanField(required=False)
    expand = forms.SlugField(required=False, max_length=60)

    @classmethod
    def read_choice(cls, given: Mapping[str, object]) -> ScrollChoice:
        """The choice that an address names; what it does not name well has its default."""
        form = cls(given)
        form.is_valid()
        found = form.cleaned_data
        listed = ObjectListForm.read_choice(given)
        return ScrollChoice(
            listed=listed,
            show=RowFilter(found.get("show") or show_first(listed.q)),
            view=ObjectView(found.get("view") or ObjectView.FIELDS),
            start=found.get("start") or 0,
            at=found.get("at"),
            expand=found.get("expand") or "",
            only=found.get("only"),
            is_alone=bool(found.get("alone")),
            of_object=ObjectForm.read_choice(given),
        )


class ViewedForm(forms.Form):
    """One object, or a block of identical changes, and whether it is viewed.

    - `seen` holds the positions of objects that were on the reader's screen, with commas; then nothing else counts.
    - `alone`: the box of an object that stands alone was used.
    - `shown`: the objects that the list shows under the filters beside it, all or those of one group.
    """

    position = forms.IntegerField(required=False, min_value=0, max_value=_MOST)
    group = forms.SlugField(required=False, max_length=60)
    viewed = forms.BooleanField(required=False)
    seen = forms.RegexField(r"^[0-9]{1,7}(,[0-9]{1,7}){0,499}$", required=False, max_length=4000)
    has_meter = forms.BooleanField(required=False)
    alone = forms.BooleanField(required=False)
    shown = forms.BooleanField(required=False)

    @property
    def seen_positions(self) -> frozenset[int]:
        """The positions in `seen`; none when it is not well-formed."""
        found = self.cleaned_data.get("seen") or ""
        return frozenset(int(one) for one in found.split(",") if one)
