import { stripVTControlCharacters } from "node:util";

/** Control characters except tab and line feed. PostgreSQL rejects NUL. */
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Makes text well-formed and removes escape sequences and control characters. */
export function plainText(text: string): string {
  const lines = text.includes("\r") ? text.replaceAll("\r\n", "\n") : text;
  const plain = lines.includes("\u001b") || lines.includes("\u009b") ? stripVTControlCharacters(lines) : lines;
  return plain.toWellFormed().replace(control, " ");
}

/** The first `limit` characters, never half of a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

/** Text that programs inject into a conversation: reminders, hook output, the environment. Not remembered. */
const injectedTags = [
  ...[
    "system-reminder",
    "user-prompt-submit-hook",
    "session-start-hook",
    "local-command-stdout",
    "local-command-stderr",
  ],
  ...["local-command-caveat", "command-name", "command-message", "command-args", "command-contents", "bash-stdout"],
  ...["bash-stderr", "environment_context", "user_instructions", "permissions instructions", "INSTRUCTIONS"],
  ...["turn_aborted", "ide_opened_file", "ide_selection", "task-notification", "skill", "hook_output"],
] as const;

const opening = new RegExp(`<(${injectedTags.join("|")})(?:\\s[^<>\\n]{0,500})?>`, "g");
/** A line in which an agent reports a hook's output. */
const hookLine =
  /^(?:[A-Za-z]{1,40} hook (?:additional context|feedback|success|error|blocking error)|.{0,80} hook (?:additional context|feedback|success|error|blocking error)):.*$/gm;

/** Removes injected context. An unclosed element extends to the end of the text. */
export function withoutInjected(text: string): string {
  if (!text.includes("<") && !text.includes(" hook ")) return text;
  let kept = "";
  let from = 0;
  opening.lastIndex = 0;
  for (let found = opening.exec(text); found !== null; found = opening.exec(text)) {
    kept += text.slice(from, found.index);
    const closing = `</${found[1] ?? ""}>`;
    const end = text.indexOf(closing, opening.lastIndex);
    from = end < 0 ? text.length : end + closing.length;
    opening.lastIndex = from;
  }
  return (kept + text.slice(from)).replace(hookLine, "");
}
