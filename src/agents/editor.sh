#!/bin/sh
# The editor of every agent that Postern starts. With a prompt waiting in POSTERN_SESSION_PROMPT it puts that prompt, byte for byte,
# into the file that it was asked to edit; otherwise it becomes the user's own editor.
prompt=$POSTERN_SESSION_PROMPT
if [ -n "$prompt" ] && [ -f "$prompt" ]; then
  for file in "$@"; do :; done
  # The prompt's file is removed last: once it is gone, everything is done.
  cat -- "$prompt" >"$file" && rm -f -- "$prompt.pending" "$prompt"
  exit
fi
# Postern opened this editor, but has taken the prompt back since then: whatever Postern types now is meant for the agent.
if [ -n "$prompt" ] && [ -f "$prompt.pending" ]; then
  rm -f -- "$prompt.pending"
  exit
fi
# The user's editor may have arguments.
exec sh -c "${POSTERN_SESSION_EDITOR:-vi}"' "$@"' editor "$@"
