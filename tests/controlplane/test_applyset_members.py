"""The page of ApplySets lists the members that the real kubectl made, and which of them its prune misses."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.known_names import PART_OF
from applyviz.workflow.live.applysets import read_applysets
from tests.controlplane.product import Product
from tests.controlplane.test_applysets import config
from tests.controlplane.test_pruning import kubectl_apply

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.core(1)]
SPACE = "applyset-members"


def list_sets(found):
    return {
        one.parent.name: {m.ref.name: m.is_missed for m in one.members}
        for one in found.sets
        if one.parent.namespace == SPACE
    }


def test_sets_of_kubectl_are_listed_with_what_its_prune_misses(control_plane):
    product = Product(control_plane)
    control_plane.kubectl("create", "namespace", SPACE)
    flags = ("--prune", "--applyset=secrets/one", "--server-side")
    kubectl_apply(control_plane, config("a", "b"), SPACE, flags)
    kubectl_apply(control_plane, config("c"), SPACE, ("--prune", "--applyset=secrets/two", "--server-side"))
    parent = json.loads(control_plane.kubectl("get", "secret/one", "-n", SPACE, "-o", "json").stdout)
    own = parent["metadata"]["labels"]["applyset.kubernetes.io/id"]
    control_plane.kubectl("create", "serviceaccount", "stray", "-n", SPACE)
    control_plane.kubectl("label", "serviceaccount", "stray", "-n", SPACE, f"{PART_OF}={own}")

    found = read_applysets(product.cluster, for_user=product.alice)

    assert list_sets(found) == {"one": {"a": False, "b": False, "stray": True}, "two": {"c": False}}
    kubectl_apply(control_plane, config("a"), SPACE, flags)
    left = control_plane.kubectl("get", "configmaps,serviceaccounts", "-n", SPACE, "-o", "name").stdout.split()
    assert "configmap/b" not in left
    assert "serviceaccount/stray" in left
    assert list_sets(read_applysets(product.cluster, for_user=product.alice))["one"] == {"a": False, "stray": True}
