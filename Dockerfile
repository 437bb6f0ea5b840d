# syntax=docker/dockerfile:1
# The command and the page, with kernels that run on any processor of the platform: nothing is compiled or fetched later.
#
#   docker build --tag indistinct .
#   docker run --rm --volume "$PWD:/data" indistinct anonymize policy.toml
#   docker run --rm --volume "$PWD:/data" --network host indistinct serve --no-browser --port 8080
#
# The page listens on the loopback address only, so that it shares the network of the host.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN make wheel
RUN python -m venv /opt/indistinct \
    && /opt/indistinct/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock \
    && /opt/indistinct/bin/pip install --no-cache-dir "$(ls dist/*-cp*.whl)[web]"

FROM python:${PYTHON}-slim
COPY --from=build /opt/indistinct /opt/indistinct
RUN useradd --create-home --uid 10001 steward && mkdir /data && chown steward /data
ENV PATH=/opt/indistinct/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER steward
WORKDIR /data
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=3); c.request('GET', '/'); raise SystemExit(c.getresponse().status >= 500)"]
ENTRYPOINT ["indistinct"]
CMD ["--help"]
