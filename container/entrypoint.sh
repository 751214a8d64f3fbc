#!/bin/sh
# What a container begins with: set-up at its first boot, then the gateway in the place of this script. Another command runs instead.
# A gateway that would be refused is refused before: its first boot makes nothing, and prints no link that nobody can use.
set -eu
if [ "${1:-serve}" != serve ]; then exec "$@"; fi
[ $# -eq 0 ] || shift
postern serve --check "$@" >/dev/null
postern coding setup --yes --once --folder /code --link ${POSTERN_DEFAULT_AGENT:+--default "$POSTERN_DEFAULT_AGENT"}
exec postern serve --end-agents "$@"
