"""Run the programs that render (helm, kustomize) where they reach no network, no file of the host and no secret.

`choose` decides where: the renderer service of a team installation, or namespaces of this machine; nothing else.
"""
