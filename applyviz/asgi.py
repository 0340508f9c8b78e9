"""The ASGI application that uvicorn serves; in a team it refuses to start with keys that open sealed data."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from applyviz import environment, process_keys, stopping

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "applyviz.settings")
# An ASGI server answers each request in another thread, and each thread would keep a connection.
os.environ.setdefault("APPLYVIZ_DATABASE_POOL", "16")
with environment.refusing():
    process_keys.require_web_keys()
    _django = get_asgi_application()
from applyviz.web.frame.bodies import BodyLimits  # it needs the settings

application = BodyLimits(_django)
stopping.listen()  # uvicorn loads this module after it installed its handlers
