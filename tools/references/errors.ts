import { problemStatuses } from "../../src/http/problem-response.ts";
import { problemCodes, problemHelp } from "../../src/wire/problem.ts";
import { code, generatedHead, table } from "./markdown.ts";

const lead = `Every error response of the HTTP interface is a problem document (\`application/problem+json\`,
[RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)) with a \`code\` from this list. A running gateway has the same list at \`/docs/problems\`. MCP tools
return the same codes. The command line prints \`postern: <code>: <detail>\` ([exit codes](../exit-codes.md)).`;

const example = `{
  "type": "/docs/problems#session_not_found",
  "title": "Session not found",
  "status": 404,
  "code": "session_not_found",
  "detail": "Session 0b0c… does not exist or is not in a folder that you can access."
}`;

const fields: readonly (readonly [name: string, words: string])[] = [
  ["type", "A page that explains the code, on this gateway."],
  ["title", "The code in words, for people; it can change."],
  ["status", "The HTTP status, repeated for clients that keep only the body."],
  ["code", "For programs. The meaning of a code never changes."],
  [
    "detail",
    "What happened, to what, and what to do, for people. For a 5xx, it contains the request ID to search for in the gateway's log.",
  ],
  [
    "errors",
    "With `invalid_request`: each invalid field as `{ path, message }`; the path uses dots for nested fields.",
  ],
  [
    "other fields",
    "Depend on the code: `sessionId` if the session already exists, `files` of a conflict, `exitCode` and `lastScreen` of an agent that ended.",
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
| 4xx | fix the request, or first do what the error says; repeating it unchanged fails again, except for 409 and 429 |
| 429 | try again after \`Retry-After\` seconds |
| 5xx | a problem of the gateway or the machine; the same request can succeed later |

The OAuth routes (\`/oauth/token\` and others) return OAuth errors, with \`error\` and \`error_description\`: [apps](../oauth.md), and \`/docs/oauth-errors\` of a
running gateway.

## Codes

${table(["code", "status", "meaning", "what to do"], rows)}
`;
}
