# The decision service: compiled ahead, not root, and able to run with a read-only file system.
#
#   docker build --tag headstart .
#   docker run --rm --volume headstart:/data headstart headstart keys create --role admin
#   docker run --read-only --tmpfs /tmp --volume headstart:/data --publish 127.0.0.1:8000:8000 headstart
#
# Machine code is for any x86-64 processor with AVX2; elsewhere build with --build-arg CPU=generic.
ARG PYTHON=docker.io/library/python:3.12-slim-bookworm

FROM ${PYTHON} AS build
ARG CPU=x86-64-v3
ENV NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES="" \
    HEADSTART_CACHE=/opt/headstart/compiled \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /source
COPY requirements/serve.txt requirements/
RUN python -m venv /opt/headstart \
 && /opt/headstart/bin/pip install --quiet --require-hashes -r requirements/serve.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN /opt/headstart/bin/pip install --quiet --no-deps --no-build-isolation . \
 && /opt/headstart/bin/headstart compile

FROM ${PYTHON}
ARG CPU=x86-64-v3
# One thread per product of small matrices; processes, not threads, use the cores.
ENV NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES="" \
    HEADSTART_CACHE=/opt/headstart/compiled \
    HEADSTART_STORE=/data/store.sqlite \
    OPENBLAS_NUM_THREADS=1 \
    PATH=/opt/headstart/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin headstart \
 && install --directory --owner headstart --mode 0700 /data
COPY --from=build /opt/headstart /opt/headstart
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["headstart", "serve", "--host", "0.0.0.0", "--log-format", "json"]
