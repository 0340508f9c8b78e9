"""The product's settings with a home of its own that dies with the tests, and a quick password hasher."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

if "APPLYVIZ_HOME" not in os.environ:
    _home = tempfile.mkdtemp(prefix="applyviz-tests-")
    # By this key names are put into buckets of counters; a random one lets two names of a test share one now and then.
    Path(_home, "keys").mkdir(mode=0o700)
    Path(_home, "keys", "web").write_text("web-key-of-tests-" + "0123456789abcdef" * 3)
    os.environ["APPLYVIZ_HOME"] = _home
    atexit.register(shutil.rmtree, _home, ignore_errors=True)

# A process that a test has started goes by the clock of that test.
if "APPLYVIZ_TEST_OFFSET" in os.environ:
    from tests import moments

    moments.follow_parent()

from applyviz.settings import *  # noqa: F403 - Django settings are a namespace

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Each test client starts the middleware anew: files are looked up when they are asked for, not listed at each start.
WHITENOISE_AUTOREFRESH = True
