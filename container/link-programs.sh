#!/bin/sh
# Runtime stage, as root: puts `postern` and the agents' programs on PATH, without their npm launchers.
set -eu
link() {
  [ $# -eq 2 ] && [ -x "$2" ] || { echo "Expected one program for $1, found: $*" >&2; exit 1; }
  ln -sf "$2" "/usr/local/bin/$1"
}
link claude /opt/agents/@anthropic-ai/claude-code-linux-*/claude
link codex /opt/agents/@openai/codex-linux-*/vendor/*/bin/codex
link postern /opt/postern/container/postern
