"""What the product applies is what the real kubectl would have made of the same files."""

import pytest

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.controlplane.comparison import compare
from tests.controlplane.kubectl_side import run_with_kubectl
from tests.controlplane.product import Product, count_operations, run_with_product
from tests.controlplane.stories import tell_boutique, tell_shop

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.fixture
def product(control_plane) -> Product:
    return Product(control_plane)


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_product_leaves_the_shop_as_kubectl_does(product, mode):
    theirs = run_with_kubectl(product.plane, tell_shop(f"kubectl-{mode}"), mode)

    ours = run_with_product(product, tell_shop(f"product-{mode}"), mode)

    assert [compare(*pair) for pair in zip(ours, theirs, strict=True)] == [[], []]
    assert [len(objects) for objects in ours] == [48, 50]


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_product_leaves_online_boutique_as_kubectl_does(product, public_manifests, mode):
    theirs = run_with_kubectl(product.plane, tell_boutique(public_manifests, f"kubectl-{mode}"), mode)

    ours = run_with_product(product, tell_boutique(public_manifests, f"product-{mode}"), mode)

    assert [compare(*pair) for pair in zip(ours, theirs, strict=True)] == [[], []]
    assert [len(objects) for objects in ours] == [24, 35]


def test_product_plans_nothing_after_it_applied(product):
    story = tell_shop("again")
    options = ApplyOptions(namespace=story.namespace)
    product.apply(story.first, options)

    plan = product.plan(story.first, options)

    assert count_operations(plan) == {"unchanged": 48}


@pytest.mark.long
def test_product_sees_the_conflict_that_the_server_would_answer(product):
    story = tell_shop("conflict")
    options = ApplyOptions(namespace=story.namespace)
    product.apply(story.first, options)
    story.between(product.plane)

    plan = product.plan(story.second, options)

    assert [change.name for change in plan.changes.filter(conflicts__gt=0)] == ["checkout"]
    assert count_operations(plan)["blocked"] == 1
