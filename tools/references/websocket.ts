import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import {
  binaryFrameKinds,
  clientFrameSchema,
  outputFrameHeadBytes,
  serverFrameSchema,
  type TerminalCloseCode,
  terminalCloseCodes,
  terminalProtocol,
  terminalQuerySchema,
} from "../../src/wire/terminal.ts";
import { type JsonSchema, jsonSchemaSchema, typeInWords } from "./json-schema.ts";
import { code, generatedHead, table } from "./markdown.ts";

const lead = `The frames of \`WS /api/coding/coding_xterm_session\`, a session's live terminal, generated from their schemas. [Live terminal](../terminal.md)
describes access, several viewers, and the order of frames.`;

const advice: Readonly<Record<TerminalCloseCode, string>> = {
  1000: "Nothing: the program ended.",
  1012: "Reconnect with increasing delays. If you send `terminal` and `from`, no output is lost.",
  1013: "Try again later: there are too many viewers or sessions.",
  4400: "Fix the query, or the order of the messages.",
  4401: "Sign in, or use another token; a ticket works once.",
  4403: "The caller lacks the scope, or its folders do not contain the session.",
  4404: "The session does not exist, or you don't have access.",
  4409: "The session runs outside Postern. End it where it runs.",
};

/** Recorded by `test/gateway/terminal-socket.test.ts`, which fails if the exchange differs. */
const exchangeFile = join(import.meta.dirname, "terminal-exchange.txt");

/** `docs/reference/websocket.md`. */
export function websocketReference(): string {
  const codes = Object.values(terminalCloseCodes).map((each) => [String(each), advice[each]]);
  const binary = Object.entries(binaryFrameKinds).map(([kind, first]) => [String(first), kind]);
  return `${generatedHead("WebSocket", lead)}
## Query

${fieldsOf(schemaOf(terminalQuerySchema, "input"))}

## Frames from the client

Binary frames are input, and so is any text that is not one of these frames:

${framesOf(schemaOf(clientFrameSchema, "input"))}

## Frames from the gateway

Without a subprotocol, output is sent as text frames, and \`exit\` comes last. With the subprotocol \`${terminalProtocol}\`, text frames are always one of these:

${framesOf(schemaOf(serverFrameSchema, "output"))}

With the subprotocol, output is sent in binary frames with a header of ${outputFrameHeadBytes} bytes: the kind, then the offset in ${outputFrameHeadBytes - 1} bytes, big-endian. For output, it is the offset of the frame's
first byte. For a screen, it is the offset where output continues: clear the terminal, then write the rest of the frame.

${table(["first byte", ""], binary)}

## Example

A recorded exchange with a program that asks for a name, prints a greeting, and exits with 3: \`>\` is from the client, \`<\` from the gateway. A binary frame is shown as its header
of ${outputFrameHeadBytes} bytes in hexadecimal, and the rest as a JSON string. Consecutive output frames are merged.

\`\`\`text
${readFileSync(exchangeFile, "utf8").trimEnd()}
\`\`\`

## Close codes

${table(["code", "what to do"], codes)}

Treat a connection that breaks without a code (1006) as 1012.
`;
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  return jsonSchemaSchema.parse(z.toJSONSchema(schema, { io, unrepresentable: "any" }));
}

function framesOf({ oneOf, anyOf }: JsonSchema): string {
  return (oneOf ?? anyOf ?? []).map((frame) => fieldsOf(frame)).join("\n\n");
}

function fieldsOf({ properties = {}, required = [] }: JsonSchema): string {
  const rows = Object.entries(properties).map(([name, field]) => [
    code(name),
    typeInWords(field),
    required.includes(name) ? "" : "optional",
    field.description ?? "",
  ]);
  return table(["field", "type", "", ""], rows);
}
