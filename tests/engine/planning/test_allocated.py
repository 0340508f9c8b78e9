"""Is exactly that left out of a promise which only the real server can choose?"""

from __future__ import annotations

from applyviz.engine.planning.model.server_chosen import without_allocated, without_chosen

UID = "11111111-1111-4111-8111-111111111111"


def service(**spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "uid": UID}, "spec": spec}


def test_new_object_is_without_its_uid_wherever_it_stands():
    labels = {"controller-uid": UID, "app": "a"}
    spec = {"selector": {"matchLabels": {"controller-uid": UID}}, "list": [{"of": UID}, labels], "none": {}}
    job = {"kind": "Job", "metadata": {"name": "j", "uid": UID, "creationTimestamp": "now"}, "spec": spec}

    assert without_chosen(job, {}, None) == {
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"list": [{}, {"app": "a"}], "none": {}},
    }


def test_new_object_without_a_uid_stays_as_it_is():
    assert without_chosen({"kind": "Job", "metadata": {"name": "j"}}, {}, None) == {
        "kind": "Job",
        "metadata": {"name": "j"},
    }


def test_changed_object_keeps_its_uid():
    held = {"kind": "Job", "metadata": {"uid": UID}, "spec": {"l": UID}}

    assert without_chosen(held, {}, held) == held


def test_address_that_was_asked_for_stays_with_the_list_that_says_the_same():
    answer = service(clusterIP="None", clusterIPs=["None"], ports=[{"port": 80, "nodePort": 30080}])

    kept = without_allocated(answer, service(clusterIP="None"), {})

    assert kept["spec"] == {"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 80}]}


def test_address_that_was_there_before_stays():
    live = service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"], ports=[{"port": 80, "nodePort": 30080}])

    assert without_allocated(live, service(), live) == live


def test_address_that_a_patch_clears_stays_as_the_server_answers():
    live = service(clusterIP="None", clusterIPs=["None"])

    assert without_allocated(live, {"spec": {"clusterIP": None}}, live) == live
