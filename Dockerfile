# One image for web, worker, beat and migrations; it runs as an ordinary user on a read-only root file system.
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

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin applyviz
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 APPLYVIZ_HOME=/tmp/applyviz
USER 10001
EXPOSE 8000
CMD ["uvicorn", "applyviz.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-proxy-headers"]
