"""Risks as chips: the one list of risks, and nothing that is blocked counted as happening."""

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import ObjectChange
from applyviz.web.reviews.pages.risks import NAMED, list_high_risks
from applyviz.workflow.policies.risks import gather_risks


def row(position, name, *risks, operation=Operation.UPDATE, kind="Deployment"):
    return ObjectChange(
        position=position,
        name=name,
        kind=kind,
        operation=operation.value,
        has_effect=True,
        risk_levels=[list(risk) for risk in risks],
    )


def tell(changes, many=50):
    found = list_high_risks(changes, gather_risks(changes, many=many), url_of=str)
    return [(d.style.tone, str(d.title), [one.name for one in d.objects]) for d in found]


def test_what_is_blocked_does_not_happen():
    restarts = ("pods-restart", "medium")
    changes = [row(0, "cart", restarts), row(1, "checkout", restarts, operation=Operation.BLOCKED)]

    assert tell(changes) == [("warn", "Pods restart", ["cart"]), ("warn", "Blocked by conflict", ["checkout"])]


def test_what_is_not_written_has_no_risk():
    wide = ("cluster-scoped", "medium")
    changes = [row(n, "x", wide, operation=o) for n, o in enumerate((Operation.UNCHANGED, Operation.ERROR))]

    assert tell(changes) == []


def test_high_risks_come_first_and_infos_do_not_come():
    changes = [
        row(0, "cart", ("pods-restart", "medium"), ("order-churn", "info")),
        row(1, "inventory", ("pods-restart", "high"), ("force", "high")),
    ]

    assert tell(changes) == [
        ("remove", "Downtime", ["inventory"]),
        ("remove", "Fields forced (force-conflicts)", ["inventory"]),
        ("warn", "Pods restart", ["cart"]),
    ]


def test_many_objects_are_a_risk_from_the_number_of_the_policy():
    changes = [row(n, f"o{n:02}") for n in range(NAMED + 2)]

    (risk,) = list_high_risks(changes, gather_risks(changes, many=3), url_of=str)

    named = [one.name for one in risk.named]
    assert (str(risk.title), named, risk.more) == ("Large change", [f"o{n:02}" for n in range(NAMED)], 2)
    assert tell(changes, many=NAMED + 2) == []
