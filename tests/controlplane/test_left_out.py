"""One object of a set is left out on a real API server: the others are applied as kubectl applies them alone."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from applyviz.records.enums import Outcome
from tests.controlplane.comparison import compare, make_comparable, read_objects
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
MANAGERS = {ApplyMode.CLIENT: "kubectl-client-side-apply", ApplyMode.SERVER: "applyviz"}


def config(name: str, namespace: str, value: str) -> str:
    return (
        "apiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nimmutable: {str(name == 'sealed').lower()}\n"
        f"data: {{x: '{value}'}}\n"
    )


def write(namespace: str, value: str, *names: str) -> dict[str, str]:
    return {f"{name}.yaml": config(name, namespace, value) for name in names}


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_others_are_what_kubectl_makes_of_them_and_the_left_out_object_stays(control_plane, mode):
    theirs, mine = f"theirs-others-{mode.value}", f"mine-others-{mode.value}"
    flags = () if mode is ApplyMode.CLIENT else ("--server-side", f"--field-manager={MANAGERS[mode]}")
    control_plane.kubectl("create", "namespace", theirs)
    control_plane.kubectl("create", "namespace", mine)
    for value, names in (("1", ("sealed", "a", "b")), ("2", ("a", "b"))):
        text = "---\n".join(write(theirs, value, *names).values())
        control_plane.kubectl("apply", *flags, "-f", "-", stdin=text)
    product, options = Product(control_plane), ApplyOptions(mode=mode, field_manager=MANAGERS[mode], namespace=mine)
    product.apply(write(mine, "1", "sealed", "a", "b"), options)
    files = write(mine, "2", "sealed", "a", "b")
    refused = product.plan(files, options)
    assert {row.name for row in refused.changes.filter(operation=Operation.ERROR)} == {"sealed"}

    left = replace(options, left_out=(f"core/ConfigMap/{mine}/sealed",), left_out_reason="it is immutable")
    run = product.apply(files, left)

    assert run.results.get(change__name="sealed").outcome == Outcome.LEFT_OUT
    found = make_comparable(read_objects(control_plane, files, mine), {mine: "same"})
    wanted = make_comparable(
        read_objects(control_plane, write(theirs, "2", "sealed", "a", "b"), theirs), {theirs: "same"}
    )
    assert compare(found, wanted) == []


@pytest.mark.long
def test_left_out_member_of_an_applyset_is_not_pruned_and_stays_a_member(control_plane):
    product, namespace = Product(control_plane), "set-others"
    control_plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(namespace=namespace, prune=Prune(PruneMode.APPLYSET, applyset="secrets/shop"))
    product.apply(write(namespace, "1", "sealed", "a", "gone"), options)

    left = replace(options, left_out=(f"core/ConfigMap/{namespace}/sealed",), left_out_reason="it is immutable")
    product.apply(write(namespace, "2", "sealed", "a"), left)

    names = control_plane.kubectl(
        "get", "configmaps", "-n", namespace, "-l", "applyset.kubernetes.io/part-of", "-o", "name"
    )
    assert sorted(names.stdout.split()) == ["configmap/a", "configmap/gone", "configmap/sealed"]
    product.apply(write(namespace, "2", "a"), options)
    names = control_plane.kubectl(
        "get", "configmaps", "-n", namespace, "-l", "applyset.kubernetes.io/part-of", "-o", "name"
    )
    assert sorted(names.stdout.split()) == ["configmap/a"]
