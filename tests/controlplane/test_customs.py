"""Random custom resources: what the server answers to each write, the sandbox answers too."""

import random

import pytest

from tests.controlplane.customs import Custom
from tests.controlplane.fixed_fields import Asker

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
DEFINITIONS, WRITES = 10, 20


def test_sandbox_answers_writes_of_custom_resources_as_the_server_does(control_plane):
    rng, asker = random.Random(3), Asker(control_plane)
    differing, told = [], 0
    for number in range(DEFINITIONS):
        custom = Custom(asker, rng, number)
        assert custom.create()
        for _ in range(WRITES):
            custom.write()
        custom.delete()
        assert custom.disagreements == []
        results = list(custom.judge())
        told += len(results)
        differing += [result.reason for result in results if not result.agrees][:1]

    # Of several typed errors a server tells them in a random order, or a part: so one story may differ.
    assert differing[1:] == []
    assert told >= DEFINITIONS * WRITES
