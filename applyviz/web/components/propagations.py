"""The ways to delete an object, in words."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import Propagation

PROPAGATIONS = [
    (Propagation.BACKGROUND.value, _("Background: objects that belong to it are deleted after it")),
    (Propagation.FOREGROUND.value, _("Foreground: objects that belong to it are deleted before it")),
    (Propagation.ORPHAN.value, _("Orphan: objects that belong to it stay")),
]
