# The gateway as an image, from the Debian package that this tree builds:
#
#     docker build -t antiphon --build-arg COMMIT="$(git rev-parse HEAD)" --build-arg VERSION=0.2.0 .
#     docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#         -v antiphon:/var/lib/antiphon -p 127.0.0.1:8080:8080 -e ANTIPHON_API_KEY=... antiphon
#
# It needs no root, no shell, no capability and no writable root. It does not start without keys, unless
# ANTIPHON_ALLOW_OPEN=1 says that everybody who reaches it is to be answered. The code interpreter is off: its
# sandbox wants more than a container is given (SECURITY.md says what, and how).

FROM debian:bookworm-slim AS build
ARG COMMIT=
ENV DEBIAN_FRONTEND=noninteractive COMMIT=$COMMIT
COPY tools/install-deps /source/tools/install-deps
RUN apt-get update && /source/tools/install-deps deb && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN /source/packaging/build-deb /packages

FROM debian:bookworm-slim
ARG COMMIT=
ARG VERSION=
LABEL org.opencontainers.image.title="antiphon" \
      org.opencontainers.image.description="Gateway that gives Chat Completions servers the Responses API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT" \
      org.opencontainers.image.source="https://antiphon.invalid/source"
COPY --from=build /packages/antiphon_*.deb /tmp/
# systemd-standalone-sysusers stands in for all of systemd.
RUN apt-get update \
    && apt-get install -y --no-install-recommends systemd-standalone-sysusers ca-certificates /tmp/antiphon_*.deb \
    && rm -rf /tmp/*.deb /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
    && install -d -m 1777 /var/lib/antiphon

# Any user will do; this one has no entry in /etc/passwd, and what it makes is its own.
USER 65532:65532
WORKDIR /var/lib/antiphon
VOLUME /var/lib/antiphon
ENV STATE_DIRECTORY=/var/lib/antiphon \
    ANTIPHON_LISTEN=:8080,:9090+metrics \
    ANTIPHON_ALLOW_OPEN=0 \
    ANTIPHON_CODE_INTERPRETER=off \
    ANTIPHON_LOG_FORMAT=json
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["antiphon", "health"]
ENTRYPOINT ["antiphon"]
CMD ["serve"]
