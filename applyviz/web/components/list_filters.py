"""The filters of a list of reviews or of runs: a text, a cluster, a namespace, a state, a person and a period.

Rule: all filters must match. An invalid filter filters nothing, and the page names it. The list is limited to what its
reader may see before it is filtered, so that a filter reveals nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from urllib.parse import urlencode

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Exists, OuterRef, Q
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from msgspec import Struct
from msgspec.structs import asdict

from applyviz import clock
from applyviz.records.models import ReviewScope
from applyviz.web.components.forms import Choice, offer_choices
from applyviz.workflow.clusters.registration import list_clusters
from applyviz.workflow.foundation.access import Person

# What a calendar needs, far from the ends of what a database and a time zone can represent.
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2999, 12, 31)
_DAYS = [MinValueValidator(FIRST_DAY), MaxValueValidator(LAST_DAY)]
_NUMBER = re.compile(r"#?([0-9]{1,9})")


class ListFilter(Struct, frozen=True):
    """What a list is limited to; "" and None limit nothing."""

    text: str = ""
    cluster: str = ""
    namespace: str = ""
    state: str = ""
    person: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def query(self) -> str:
        """The filters as parts of an address, each with a leading `&`."""
        return "".join(f"&{urlencode({name: str(value)})}" for name, value in asdict(self).items() if value)

    def match_scopes(self, review: str) -> Q:
        """Return the condition that the review of a row, whose key is the column `review`, is for these scopes."""
        if not (self.cluster or self.namespace):
            return Q()
        scopes = ReviewScope.objects.filter(review=OuterRef(review))
        if self.cluster:
            scopes = scopes.filter(cluster__slug=self.cluster)
        if self.namespace:
            scopes = scopes.filter(namespace=self.namespace.lower())
        return Q(Exists(scopes))

    def match_days(self, column: str) -> Q:
        """Return the condition that a moment is in the period; both days belong to it, as the reader's days are."""
        asked = Q()
        if self.since:
            asked &= Q(**{f"{column}__gte": clock.find_start(self.since)})
        if self.until:
            asked &= Q(**{f"{column}__lt": clock.find_start(self.until + timedelta(days=1))})
        return asked

    def match_person(self, column: str) -> Q:
        """Return the condition that a name begins so, ignoring case."""
        return Q(**{f"{column}__istartswith": self.person}) if self.person else Q()


def match_title(text: str, review: str = "") -> Q:
    """Return the condition that the title or the ticket of a review has the text; `review` prefixes its columns."""
    return Q(**{f"{review}title__icontains": text}) | Q(**{f"{review}ticket__icontains": text})


def read_number(text: str) -> int | None:
    """Return the number that a text is, with or without `#`; None for any other text."""
    found = _NUMBER.fullmatch(text.strip())
    return int(found[1]) if found else None


class ListFilterForm(forms.Form):
    """All filters of a list; an empty field filters nothing."""

    text = forms.CharField(
        label=_("Text"), required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    cluster = forms.ChoiceField(label=_("Cluster"), required=False)
    namespace = forms.CharField(label=_("Namespace"), required=False, max_length=253)
    state = forms.ChoiceField(label=_("State"), required=False)
    person = forms.CharField(required=False, max_length=150)
    since = forms.DateField(
        label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}), validators=_DAYS
    )
    until = forms.DateField(
        label=_("To"), required=False, widget=forms.DateInput(attrs={"type": "date"}), validators=_DAYS
    )

    def __init__(self, given: QueryDict, *, states: Iterable[Choice], person: str, for_user: Person) -> None:
        """Offer the clusters that this person may see, and the states of the rows; `person`: who a row names."""
        super().__init__(given)
        nothing = ("", _("any"))
        clusters = list_clusters(for_user=for_user).order_by("slug").values_list("slug", "name")
        offer_choices(self, "cluster", [nothing, *clusters])
        offer_choices(self, "state", [nothing, *states])
        self.fields["person"].label = person

    def clean_until(self) -> date | None:
        """Refuse a period that ends before it begins, as a whole."""
        since: date | None = self.cleaned_data.get("since")
        until: date | None = self.cleaned_data["until"]
        if since and until and until < since:
            del self.cleaned_data["since"]
            raise forms.ValidationError(_("The end of the period must not be before its start."))
        return until

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the valid filters that are set."""
        self.is_valid()
        return tuple(name for name, value in self.cleaned_data.items() if value)

    def read(self) -> ListFilter:
        """Return the valid filters."""
        return ListFilter(**{name: self.cleaned_data[name] for name in self.chosen})
