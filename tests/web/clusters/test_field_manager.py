"""The page of a field manager: what it owns, in pages."""

from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.web.clusters.pages.field_manager import present_holdings
from applyviz.workflow.live.inventory import Holding, Holdings
from tests.web import rows


def hold(kind: str, number: int) -> Holding:
    ref = ObjectRef(GroupVersionKind("", "v1", kind), "shop", f"one-{number:02}")
    return Holding(ref, Owner("ci", "Apply", "v1", "", ""), (".data",), ())


def test_objects_of_a_manager_come_in_pages_with_totals_of_each_kind(db):
    found = Holdings((*(hold("ConfigMap", n) for n in range(40)), *(hold("Service", n) for n in range(3))))
    cluster = rows.make_cluster()

    pages = [present_holdings(cluster, "ci", found, number) for number in (None, "2", "99")]

    shown = [[(kind.kind, len(kind.rows), kind.total) for kind in page.kinds] for page in pages]
    assert shown == [[("ConfigMap", 30, 40)], *([[("ConfigMap", 10, 40), ("Service", 3, 3)]] * 2)]
    assert {(page.object_count, page.field_count, page.reading.is_cut) for page in pages} == {(43, 43, False)}
