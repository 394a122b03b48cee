# CPU:  docker build -t tutelage .
# CUDA: docker build -t tutelage --build-arg BASE=nvidia/cuda:12.8.1-base-ubuntu24.04 --build-arg JAX=jax[cuda12] .
# Run:  docker run --rm -v "$PWD/runs:/home/tutelage/runs" tutelage train maze accel --preset small
ARG BASE=python:3.11-slim
FROM ${BASE}

# The CUDA base has no Python of its own. Which version of a package the base image's release has is its own matter.
# hadolint ignore=DL3008
RUN command -v python3 >/dev/null \
    || (apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv \
        && rm -rf /var/lib/apt/lists/*)

WORKDIR /app
RUN python3 -m venv /opt/tutelage
ENV PATH=/opt/tutelage/bin:$PATH \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

COPY requirements-run.lock ./
RUN pip install -r requirements-run.lock

# An accelerator's plug-in, in the version of the lock file's jax.
ARG JAX=jax
# hadolint ignore=DL3013
RUN pip install "${JAX}" -c requirements-run.lock

COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# The package has links to these.
COPY docs ./docs
COPY examples ./examples
COPY studies ./studies
RUN pip install --no-deps . && useradd --no-log-init --create-home --uid 10001 tutelage
USER 10001
WORKDIR /home/tutelage
ENTRYPOINT ["tutelage"]
CMD ["--help"]
