"""The one list of dangers: nothing is told twice, nothing that is refused is counted as happening."""

from applyviz.engine.hazards.model import HazardKind, Severity
from applyviz.engine.planning.dangers import DangerClass
from applyviz.engine.planning.overview import Found
from applyviz.engine.planning.plan import Operation
from applyviz.records.models import ObjectChange
from applyviz.web.presenters.dangers import CLASS_WORDS, list_dangers


def row(position, name, *dangers, operation=Operation.UPDATE, kind="Deployment"):
    return ObjectChange(
        position=position, name=name, kind=kind, operation=operation.value, has_effect=True, dangers=list(dangers)
    )


def tell(changes, *hazards, many=0):
    found = list_dangers(changes, hazards, url_of=str, many=many)
    return [(d.look.tone, str(d.title), [one.name for one in d.objects]) for d in found]


def test_every_class_has_words():
    assert set(CLASS_WORDS) == set(DangerClass)


def test_class_and_hazard_of_one_object_are_told_once():
    definition = row(0, "promotions", "crd", "cluster-scoped", kind="CustomResourceDefinition")
    reach = Found(HazardKind.CLUSTER_SCOPED, Severity.DANGER, (0,))

    assert tell([definition], reach) == [("remove", "Definition of a kind changes", ["promotions"])]


def test_object_that_belongs_to_the_whole_cluster_and_nothing_more_says_so():
    assert tell([row(0, "fast", "cluster-scoped", kind="StorageClass")]) == [
        ("remove", "Belongs to the whole cluster", ["fast"])
    ]


def test_what_is_refused_does_not_happen():
    changes = [row(0, "cart"), row(1, "checkout", operation=Operation.REFUSED)]
    restarts = Found(HazardKind.PODS_RESTART, Severity.WARNING, (0, 1))

    assert tell(changes, restarts) == [
        ("warn", "Refused until decided", ["checkout"]),
        ("warn", "Pods restart", ["cart"]),
    ]


def test_dangers_come_before_warnings_and_notes_do_not_come():
    changes = [row(0, "cart", "take over"), row(1, "inventory")]
    hazards = (
        Found(HazardKind.PODS_RESTART, Severity.WARNING, (0,)),
        Found(HazardKind.PODS_RESTART, Severity.DANGER, (1,)),
        Found(HazardKind.ORDER_CHURN, Severity.INFO, (0,)),
    )

    assert tell(changes, *hazards) == [
        ("remove", "Fields taken over", ["cart"]),
        ("remove", "Stops, then starts again", ["inventory"]),
        ("warn", "Pods restart", ["cart"]),
    ]


def test_many_objects_are_a_danger_from_the_number_of_the_policy():
    changes = [row(n, f"o{n}") for n in range(4)]

    (danger,) = list_dangers(changes, (), url_of=str, many=3)

    assert (str(danger.title), danger.names, danger.more, danger.url) == ("Many objects", "o0, o1", 2, "0")
    assert tell(changes, many=4) == []
