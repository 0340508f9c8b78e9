"""A reader never writes, and a writer sends no template."""

import pytest

from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ClusterError, UnreachableError
from applyviz.engine.objects.exchange import JSON, Answer, Placeholder, Request

PATH = "/api/v1/namespaces/shop/configmaps/settings"


class Recorded:
    """A transport that keeps what it is asked."""

    def __init__(self, error=None):
        self.sent, self.error = [], error

    def send(self, request):
        self.sent.append(request)
        if self.error:
            raise self.error
        return Answer(200, {"path": request.path})

    def close(self):
        pass


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", PATH),
        Request("PATCH", PATH, {"dryRun": "All"}, JSON, {}),
        Request("DELETE", PATH, {}, JSON, {"kind": "DeleteOptions", "dryRun": ["All"]}),
    ],
)
def test_reads_and_dry_runs_pass(request_):
    transport = Recorded()

    ClusterReader(transport).send(request_)

    assert transport.sent == [request_]


@pytest.mark.parametrize(
    "request_",
    [
        Request("PATCH", PATH, {}, JSON, {}),
        Request("POST", PATH, {"dryRun": ""}, JSON, {}),
        Request("PUT", PATH, {"dryRun": "None"}, JSON, {}),
        Request("DELETE", PATH),
        Request("DELETE", PATH, {}, JSON, {"dryRun": []}),
        Request("PATCH", PATH, {}, JSON, {"dryRun": ["All"]}),
    ],
)
def test_writes_are_refused(request_):
    transport = Recorded()

    with pytest.raises(ClusterError, match="a reader never writes"):
        ClusterReader(transport).send(request_)
    assert transport.sent == []


@pytest.mark.parametrize("parallel", [1, 4])
def test_many_answers_keep_the_order(parallel):
    requests = [Request("GET", f"{PATH}-{n}") for n in range(20)]

    answers = ClusterReader(Recorded(), parallel=parallel).try_send_all(requests)

    assert [answer.body["path"] for answer in answers] == [request.path for request in requests]


def test_missing_answer_becomes_status_zero():
    answer = ClusterReader(Recorded(UnreachableError("no connection"))).try_send(Request("GET", PATH))

    assert (answer.status, answer.message) == (0, "no connection")


def test_writer_sends_no_template():
    transport = Recorded()

    with pytest.raises(ClusterError, match="was not filled"):
        ClusterWriter(transport).send(
            Request("PATCH", PATH, {}, JSON, {}, placeholders=(Placeholder(("f:uid",), "uid"),))
        )
    assert transport.sent == []


@pytest.mark.parametrize("status", [200, 201, 204])
def test_success_that_could_not_be_read_is_no_success(status):
    """Cut in its headers, half of it missing, too large: whoever goes on must not take it for the object."""
    answer = ClusterReader(Recorded(UnreachableError("the server answered with nothing", status))).try_send(
        Request("GET", PATH)
    )

    assert (answer.status, answer.is_ok, answer.message) == (0, False, "the server answered with nothing")
