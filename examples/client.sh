# usage: GATEWAY=http://localhost:7177 TOKEN=pst_… sh client.sh <directory> <prompt>
call() { curl -sS "$GATEWAY/api/coding/$1" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "$2"; }
field() { printf %s "$answer" | grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; } # the first of this name
escaped() { printf %s "$1" | sed 's/[\\"]/\\&/g'; } # a line, for between quotes in JSON

answer=$(call coding_ask "{\"dir\":\"$(escaped "$1")\",\"prompt\":\"$(escaped "$2")\",\"waitMs\":60000}")
while :; do
  case $answer in '{"type":"/docs/problems#'*) echo "$(field code): $(field detail)" >&2; exit 1 ;; esac
  id=${id:-$(field sessionId)}
  permission=$(field permissionId)
  case $(field activity) in idle | "") break ;; esac # none: its agent has ended
  if [ -n "$permission" ]; then
    printf 'The agent wants to use %s. Allow? [y/N] ' "$(field tool)" >&2
    read -r said
    if [ "$said" = y ]; then decision=allow; else decision=deny; fi
    call coding_answer_permission "{\"sessionId\":\"$id\",\"permissionId\":\"$permission\",\"decision\":\"$decision\"}" >/dev/null
  fi
  answer=$(call coding_read_session "{\"sessionId\":\"$id\",\"last\":2,\"blocks\":false,\"waitMs\":5000}")
done
printf '%s' "$answer" | grep -o '"role":"[^"]*"\|"text":"\([^"\\]\|\\.\)*"' # with `jq`: jq -r '.turns[] | "\(.role): \(.text)"'
