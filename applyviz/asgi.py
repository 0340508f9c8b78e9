"""The ASGI application that uvicorn serves; in a team it refuses to start with keys that open sealed data."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from applyviz import process_keys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "applyviz.settings")
application = get_asgi_application()
process_keys.require_web_keys()
