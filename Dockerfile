# One image for web, worker, beat and migrations, and one more for the renderer, which adds the programs that render.
# Both run as an ordinary user on a read-only root file system.

# helm and kustomize, at the versions and hashes that scripts/renderers pins.
FROM golang:1.26 AS renderers
WORKDIR /src
COPY scripts/renderers/go.mod scripts/renderers/go.sum ./
RUN CGO_ENABLED=0 GOBIN=/out go install -mod=readonly -ldflags "-s -w" tool

FROM python:3.13-slim AS build
WORKDIR /app
COPY requirements.txt ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.txt
COPY manage.py ./
COPY applyviz applyviz
COPY docs/semantics docs/semantics
COPY templates templates
COPY static static
# Collecting files needs no real key and no database. An empty manifest says that files are served under hashed names.
RUN mkdir staticfiles && echo '{"version": "1.1", "paths": {}}' > staticfiles/staticfiles.json \
    && APPLYVIZ_HOME=/tmp/home /venv/bin/python manage.py collectstatic --noinput \
    && /venv/bin/python -m compileall -q applyviz

FROM python:3.13-slim AS app
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin applyviz
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 APPLYVIZ_HOME=/tmp/applyviz
# The socket of the renderer is on a volume, which starts with the owner of this folder.
RUN mkdir /run/renderer && chown 10001:10001 /run/renderer
USER 10001
EXPOSE 8000
CMD ["uvicorn", "applyviz.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-proxy-headers"]

FROM app AS renderer
COPY --from=renderers /out/helm /out/kustomize /usr/local/bin/
CMD ["python", "-m", "applyviz.sources.rendering.service", "/run/renderer/socket"]

FROM app
