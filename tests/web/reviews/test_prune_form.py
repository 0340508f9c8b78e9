"""What the form of a new review asks about pruning: by allowlist or ApplySet, what never goes, and what is wrong."""

import pytest
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.records.models import Plan, Review
from tests.web import rows
from tests.web.reviews.test_add_review import GOOD, URL, fill

ALLOWLIST = {"mode": "client", "prune": "allowlist", "prune_allowlist": "core/v1/ConfigMap\napps/v1/Deployment"}


def test_prune_by_allowlist_is_chosen_in_the_form(as_alice):
    rows.make_cluster()

    as_alice.post(URL, fill(text=GOOD.decode(), selector=" app=shop ", applyset="secrets/not-chosen", **ALLOWLIST))

    options = options_from_json(Plan.objects.get().options)
    assert (options.selector, options.prune) == (
        "app=shop",
        Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap", "apps/v1/Deployment")),
    )
    page = as_alice.get(reverse("reviews:show-review", args=[1])).content.decode()
    assert "ConfigMap, Deployment that were applied before and match app=shop" in page


def test_prune_by_applyset_is_chosen_in_the_form(as_alice):
    rows.make_cluster()

    as_alice.post(URL, fill(text=GOOD.decode(), prune="applyset", applyset="configmaps/shop", selector="app=ignored"))

    options = options_from_json(Plan.objects.get().options)
    assert (options.selector, options.prune) == ("", Prune(PruneMode.APPLYSET, applyset="configmaps/shop"))


@pytest.mark.parametrize("method", [{"prune": "applyset", "applyset": "set"}, {**ALLOWLIST, "prune_all": "on"}])
def test_kinds_that_are_never_pruned_are_chosen_in_the_form(as_alice, method):
    rows.make_cluster()

    as_alice.post(URL, fill(text=GOOD.decode(), prune_except="core/Secret\napps/StatefulSet", **method))

    assert options_from_json(Plan.objects.get().options).prune.excepted == ("core/Secret", "apps/StatefulSet")
    page = as_alice.get(reverse("reviews:show-review", args=[1])).content.decode()
    assert ", never core/Secret, apps/StatefulSet" in page


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"prune": "applyset", "applyset": "a", "prune_except": "Secret"}, "Write each kind as group/kind"),
        ({**ALLOWLIST, "prune_all": "on", "prune_except": "core/v1/Secret"}, "Write each kind as group/kind"),
        ({**ALLOWLIST}, "Enter a selector or choose all objects, not both."),
        ({**ALLOWLIST, "selector": "a=b", "prune_all": "on"}, "Enter a selector or choose all objects, not both."),
        ({**ALLOWLIST, "selector": "a in b"}, "unable to parse selector"),
        ({**ALLOWLIST, "selector": "a=b", "prune_allowlist": "ConfigMap"}, "Write each kind as group/version/kind"),
        ({**ALLOWLIST, "selector": "a=b", "mode": "server"}, "apply client-side, or prune by ApplySet"),
        ({"prune": "applyset"}, "Name the parent, for example secrets/shop."),
        ({"prune": "applyset", "applyset": "a/b/c"}, "Name the parent, for example secrets/shop."),
    ],
)
def test_wrong_choice_of_what_to_prune_is_told(as_alice, values, told):
    rows.make_cluster()

    answer = as_alice.post(URL, fill(text=GOOD.decode(), **values))

    assert (answer.status_code, told in answer.content.decode(), Review.objects.count()) == (422, True, 0)
