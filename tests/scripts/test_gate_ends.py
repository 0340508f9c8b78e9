"""The gate prints each object of an ended run, and returns the exit status of the run."""

import io

import pytest

from scripts import gate


class EndedApi:
    """Answers for one run whose objects have these outcomes."""

    def __init__(self, *outcomes: str) -> None:
        self.outcomes = outcomes

    def get(self, path, **_query):
        assert path == "runs/3/"
        named = [(n, outcome) for n, outcome in enumerate(self.outcomes)]
        return {
            "objects": [
                {
                    "outcome_text": o.replace("-", " "),
                    "kind": "ConfigMap",
                    "name": f"n{n}",
                    "detail": "",
                    "is_gone": o == "refused",
                }
                for n, o in named
            ]
        }


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        (("deleted",), gate.DONE),
        (("deleted", "unchanged", "applied"), gate.DONE),
        (("deleted", "applied-live-differs"), gate.REFUSED),
    ],
)
def test_deleted_object_is_printed_as_deleted_and_is_a_success(outcomes, status):
    out = io.StringIO()
    run = {"number": 3, "state": "applied", "state_text": "applied", "url": "u", "outcomes": dict.fromkeys(outcomes, 1)}

    assert gate.Gate(EndedApi(*outcomes), out, seconds=1).conclude({"run": run}) == status
    assert "  deleted  ConfigMap n0\n" in out.getvalue()


def test_object_that_a_replacement_could_not_create_again_is_named():
    out = io.StringIO()
    run = {"number": 3, "state": "failed", "state_text": "failed", "url": "u", "outcomes": {"refused": 1}}

    assert gate.Gate(EndedApi("refused"), out, seconds=1).conclude({"run": run}) == gate.REFUSED
    assert "  refused  ConfigMap n0: it is deleted and was not created again\n" in out.getvalue()
