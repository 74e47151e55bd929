# The command in a container, with the folder of your tables as /data:
#
#   docker build --tag dpdistinct .
#   docker run --rm --volume "$PWD:/data:ro" dpdistinct count visits.csv --person user_id --element url
#
# With what a database or plots need (extras of pyproject.toml, with commas between them):
#
#   docker build --build-arg EXTRAS=postgresql,plot --tag dpdistinct .
#
# For a ledger, mount a folder that user 1000 may write to, and name it: --volume /srv/budgets:/budgets,
# then --ledger /budgets/budget.db.

ARG BASE=python:3.13.5-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=""
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".${EXTRAS:+[$EXTRAS]}"

FROM ${BASE}
ARG EXTRAS=""
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "dpdistinct${EXTRAS:+[$EXTRAS]}"
RUN useradd --uid 1000 --create-home analyst
USER analyst
WORKDIR /data
ENTRYPOINT ["dpdistinct"]
