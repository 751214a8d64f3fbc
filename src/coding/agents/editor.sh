#!/bin/sh
# The editor of every agent that Postern starts. With a prompt waiting in POSTERN_SESSION_PROMPT it puts that prompt, byte for byte,
# into the file that it was asked to edit; otherwise it becomes the user's own editor.
if [ -n "$POSTERN_SESSION_PROMPT" ] && [ -f "$POSTERN_SESSION_PROMPT" ]; then
  for file in "$@"; do :; done
  cat -- "$POSTERN_SESSION_PROMPT" >"$file" && rm -f -- "$POSTERN_SESSION_PROMPT"
  exit
fi
# The user's editor may bring arguments of its own, as everywhere.
exec sh -c "${POSTERN_SESSION_EDITOR:-vi}"' "$@"' editor "$@"
