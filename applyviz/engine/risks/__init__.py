"""Risks: what a reviewer must know that a diff does not show; each is declared in one module, beside its rule.

The modules are imported here, so that every declared kind is known wherever a stored risk is read.
"""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
