"""The fields that say what happens to objects that left the set, for the form of a review and for the API.

Rule: the checks that `kubectl apply --prune` makes before it sends a request, in the words of this form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.engine.requests.prune import DEFAULT_ALLOWLIST
from applyviz.engine.requests.replacement import KIND, read_names
from applyviz.engine.requests.selectors import SelectorError, parse_selector
from applyviz.web.components.forms import Cleaned

KEEP, ALLOWLIST, APPLYSET = PruneMode.NONE.value, PruneMode.ALLOWLIST.value, PruneMode.APPLYSET.value
METHODS = [
    (KEEP, _("Keep them")),
    (ALLOWLIST, _("Prune by allowlist")),
    (APPLYSET, _("Prune by ApplySet")),
]
HELP: dict[str, str | Promise] = {
    "selector_help": _("For example app=shop. Only objects with these labels are applied and pruned."),
    "kinds_help": _(
        "One group/version/kind per line, for example apps/v1/Deployment. Empty: the default kinds of kubectl."
    ),
    "except_help": _(
        "One group/kind per line, for example core/PersistentVolumeClaim. Objects of these kinds stay if they match."
    ),
    "applyset_help": _(
        "For example secrets/shop or configmaps/shop. A Secret or ConfigMap is created; another kind must exist."
    ),
    "default_kinds": ", ".join(entry.rpartition("/")[2] for entry in DEFAULT_ALLOWLIST),
}
_ENTRY = re.compile(r"[^/\s]+/[^/\s]+/[^/\s]+\Z")
_PARENT = re.compile(r"([a-z0-9.-]+/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")


class PruneFields(forms.Form):
    """What happens to objects that left the set; the fields of a method that is not chosen do not count."""

    prune = forms.ChoiceField(choices=METHODS, initial=KEEP, required=False)
    selector = forms.CharField(label=_("Label selector"), max_length=1000, required=False)
    prune_all = forms.BooleanField(label=_("All objects, whatever their labels"), required=False)
    prune_allowlist = forms.CharField(
        label=_("Kinds"), max_length=20_000, required=False, widget=forms.Textarea(attrs={"rows": 3, "class": "code"})
    )
    applyset = forms.CharField(label=_("ApplySet parent"), max_length=400, required=False)
    prune_except = forms.CharField(
        label=_("Kinds that are never pruned"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "class": "code"}),
    )

    @property
    def has_prune(self) -> bool:
        """Return whether a method other than the default is chosen, or one of its fields is wrong."""
        names = ("prune", "selector", "prune_all", "prune_allowlist", "applyset", "prune_except")
        return self["prune"].value() not in (None, "", KEEP) or any(self[name].errors for name in names)

    def clean(self) -> Cleaned:
        """Check the fields of the chosen method."""
        given = super().clean() or self.cleaned_data
        for field, text in find_prune_errors(given):
            self.add_error(field, text)
        return given

    def read_prune(self) -> tuple[str, Prune]:
        """Return the selector and the prune options of a valid form."""
        return read_prune(self.cleaned_data)


def find_prune_errors(given: Cleaned) -> Iterator[tuple[str, str]]:
    """Yield each field of the chosen method that is wrong, and what to do."""
    if given.get("prune") == ALLOWLIST:
        yield from _find_allowlist_errors(given)
    if given.get("prune") == APPLYSET and not _PARENT.match(given.get("applyset") or ""):
        yield "applyset", gettext("Name the parent, for example secrets/shop.")
    odd = [kind for kind in read_names(given.get("prune_except") or "") if not KIND.fullmatch(kind)]
    if odd and given.get("prune") in (ALLOWLIST, APPLYSET):
        yield "prune_except", gettext("Write each kind as group/kind; the core group is named core.")


def _find_allowlist_errors(given: Cleaned) -> Iterator[tuple[str, str]]:
    selector, takes_all = given.get("selector") or "", bool(given.get("prune_all"))
    if given.get("mode") == ApplyMode.SERVER.value:
        yield (
            "prune",
            gettext(
                "Prune by allowlist finds objects by their last-applied annotation, which server-side apply does not "
                "write: apply client-side, or prune by ApplySet."
            ),
        )
    if takes_all == bool(selector):
        yield "selector", gettext("Enter a selector or choose all objects, not both.")
    try:
        parse_selector(selector)
    except SelectorError as error:
        yield "selector", str(error)
    wrong = [entry for entry in read_names(given.get("prune_allowlist") or "") if not _ENTRY.match(entry)]
    if wrong:
        yield "prune_allowlist", gettext("Write each kind as group/version/kind; the core group is named core.")


def read_prune(chosen: Cleaned) -> tuple[str, Prune]:
    """Return the selector and the prune options of checked fields."""
    excepted = read_names(chosen["prune_except"])
    if chosen["prune"] == ALLOWLIST:
        kinds, takes_all = read_names(chosen["prune_allowlist"]), bool(chosen["prune_all"])
        return chosen["selector"], Prune(PruneMode.ALLOWLIST, kinds, is_all=takes_all, excepted=excepted)
    if chosen["prune"] == APPLYSET:
        return "", Prune(PruneMode.APPLYSET, applyset=chosen["applyset"], excepted=excepted)
    return "", Prune()


def list_strays(given: Cleaned) -> list[str]:
    """Return the filled fields that belong to a prune method that is not chosen."""
    own = {
        "selector": (ALLOWLIST,),
        "prune_all": (ALLOWLIST,),
        "prune_allowlist": (ALLOWLIST,),
        "applyset": (APPLYSET,),
        "prune_except": (ALLOWLIST, APPLYSET),
    }
    return [name for name, methods in own.items() if given.get("prune") not in methods and given.get(name)]
