# syntax=docker/dockerfile:1
# The command and the web app, with kernels that run on any processor of the platform: nothing is compiled or fetched
# later. Any user may run it, and what it writes belongs to that user:
#
#   docker build --tag indistinct .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" indistinct anonymize policy.toml
#
# The web app, for browsers of this machine alone, with a check of its health:
#
#   docker build --target serve --tag indistinct-serve .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" --publish 127.0.0.1:8080:8080 indistinct-serve
#
# Dependabot renews tag and digest of the base image together.
FROM python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN make wheel
RUN python -m venv --without-pip /opt/indistinct \
    && python -m pip --python /opt/indistinct/bin/python install --no-cache-dir --require-hashes --requirement requirements-image.lock \
    && python -m pip --python /opt/indistinct/bin/python install --no-cache-dir --no-deps dist/*-cp*.whl

FROM python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS run
COPY --from=build /opt/indistinct /opt/indistinct
RUN useradd --no-create-home --uid 10001 steward && mkdir /data && chown steward /data
# A user of any number has no home: caches and saved decisions go to the temporary folder of the container.
ENV PATH=/opt/indistinct/bin:$PATH PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
USER steward
WORKDIR /data
ENTRYPOINT ["indistinct"]
CMD ["--help"]

FROM run AS serve
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=3); c.request('GET', '/'); raise SystemExit(c.getresponse().status >= 500)"]
CMD ["serve", "--no-browser", "--host", "0.0.0.0", "--port", "8080"]

# The last stage is what `docker build` makes: one command and its end, of which no health is checked.
FROM run
