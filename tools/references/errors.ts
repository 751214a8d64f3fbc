import { problemStatuses } from "../../src/http/problem-response.ts";
import { problemCodes } from "../../src/wire/problem.ts";
import { problemHelp } from "../../src/wire/problem-help.ts";
import { code, generatedHead, table } from "./markdown.ts";

const lead = `Every error answer of the HTTP interface is a problem document (\`application/problem+json\`,
[RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)) whose \`code\` is of this closed list. A running gateway has the same at \`/docs/problems\`. MCP tools
answer with the same codes; the command line prints \`postern: <code>: <detail>\` and ends with 1.`;

const example = `{
  "type": "/docs/problems#session_not_found",
  "title": "Session not found",
  "status": 404,
  "code": "session_not_found",
  "detail": "There is no session 0b0c… that you may see. \`coding_list_sessions\` lists them."
}`;

const fields: readonly (readonly [name: string, words: string])[] = [
  ["type", "A page that explains the code, on this gateway."],
  ["title", "The code in words. For people; it may change."],
  ["status", "The HTTP status again, for who only keeps the body."],
  ["code", "What a program decides by. Once given a meaning, a code keeps it."],
  [
    "detail",
    "What went wrong, with which thing, and what to do. For people. Of a 5xx it says nothing about the inside; it names the request, whose line in the gateway's log does.",
  ],
  ["errors", "With `invalid_request`: each field that does not fit, as `{ path, message }`, with dots into objects."],
  [
    "other fields",
    "What belongs to the code: `sessionId` where there is one already, `files` of a conflict, `exitCode` and `lastScreen` of an agent that ended.",
  ],
];

/** `docs/reference/errors.md`. */
export function errorsReference(): string {
  const rows = problemCodes.map((name) => {
    const { meaning, remedy } = problemHelp[name];
    return [`<a id="${name}"></a>${code(name)}`, String(problemStatuses[name]), meaning, remedy];
  });
  return `${generatedHead("Errors", lead)}
\`\`\`json
${example}
\`\`\`

${table(
  ["field", ""],
  fields.map(([name, words]) => [name === "other fields" ? name : code(name), words]),
)}

| status | |
|---|---|
| 4xx | the request has to change, or something has to be done first; the same again fails again, but for 409 and 429 |
| 429 | later: \`Retry-After\` says when, in seconds |
| 5xx | the gateway or the machine; the same may work later |

The OAuth routes (\`/oauth/token\` and its relatives) answer as OAuth says, with \`error\` and \`error_description\`: [apps](../oauth.md), and \`/docs/oauth-errors\` of a
running gateway.

## Codes

${table(["code", "status", "means", "what to do"], rows)}
`;
}
