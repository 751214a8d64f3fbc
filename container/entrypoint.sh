#!/bin/sh
# Runs setup at the first start, then the gateway. If a command is given, runs only the command.
# Checks settings before setup, so that no unusable sign-in link is printed.
set -eu
if [ "${1:-serve}" != serve ]; then exec "$@"; fi
[ $# -eq 0 ] || shift
postern serve --check "$@" >/dev/null
postern coding setup --yes --once --folder /code --link ${POSTERN_DEFAULT_AGENT:+--default "$POSTERN_DEFAULT_AGENT"}
exec postern serve --end-agents "$@"
