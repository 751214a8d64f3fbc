# The gateway with Claude Code and Codex. See docs/container.md. tools/container-root.ts runs the same steps without a container engine.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY test/agents/package.json test/agents/package-lock.json test/agents/
COPY tools tools
RUN node tools/install-agents.ts
COPY . .
RUN sh container/build.sh /image

FROM node:24.21.0-bookworm-slim
COPY container /opt/postern/container
RUN sh /opt/postern/container/prepare-system.sh
COPY --from=build /build/test/agents/node_modules/@anthropic-ai /opt/agents/@anthropic-ai
COPY --from=build /build/test/agents/node_modules/@openai /opt/agents/@openai
COPY --from=build /image/postern /opt/postern
RUN sh /opt/postern/container/link-programs.sh

# POSTERN_INSECURE_HTTP is not set here. Set it only where the port is published on loopback (compose.yaml); otherwise set an https base URL.
ENV HOME=/home/postern \
    POSTERN_HOME=/home/postern/.postern \
    POSTERN_HOST=0.0.0.0 \
    POSTERN_PORT=7177 \
    LANG=C.UTF-8 \
    SHELL=/bin/bash
USER postern
WORKDIR /code
VOLUME ["/home/postern", "/code"]
EXPOSE 7177
STOPSIGNAL SIGTERM
# No --start-interval: Podman and older builders refuse it.
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s CMD ["node", "/opt/postern/container/healthcheck.mjs"]
ENTRYPOINT ["tini", "--", "/opt/postern/container/entrypoint.sh"]
CMD ["serve"]
