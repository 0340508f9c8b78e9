"""What tests of use cases share."""

from tests.following import make_begun, make_people, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.sandboxes import keep_sandboxes_in_memory  # noqa: F401 - a fixture
