# The commands of the harness, without a project: docker run --rm -v "$PWD:/work" -w /work gemini-conformance judge shim:replay
FROM python:3.13-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels "/source[codings,scale]"

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "gemini-conformance[codings,scale]" \
    && useradd --create-home harness
USER harness
ENTRYPOINT ["harness"]
CMD ["--help"]
