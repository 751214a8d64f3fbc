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

const lead = `The frames of \`WS /api/coding/coding_xterm_session\`, a session's live terminal, made from the schemas that check them. Who may connect, how
several viewers share a terminal, and what comes first: [the live terminal](../terminal.md).`;

const advice: Readonly<Record<TerminalCloseCode, string>> = {
  1000: "Nothing: the program has ended.",
  1012: "Connect again, after a pause that grows; with `terminal` and `from` nothing is lost.",
  1013: "Try later: there are too many viewers, or sessions.",
  4400: "Mend the query, or the order of things.",
  4401: "Sign in, or take another token; a ticket is good once.",
  4403: "The caller lacks the scope, or its folders do not hold the session.",
  4404: "There is no such session, or you do not see it.",
  4409: "The session runs in a program outside of this gateway: end it there.",
};

/** Taken down by `test/gateway/terminal-socket.test.ts`, which fails when it goes otherwise. */
const exchangeFile = join(import.meta.dirname, "terminal-exchange.txt");

/** `docs/reference/websocket.md`. */
export function websocketReference(): string {
  const codes = Object.values(terminalCloseCodes).map((each) => [String(each), advice[each]]);
  const binary = Object.entries(binaryFrameKinds).map(([kind, first]) => [String(first), kind]);
  return `${generatedHead("WebSocket", lead)}
## The query

${fieldsOf(schemaOf(terminalQuerySchema, "input"))}

## From the client

Text that is no JSON object of these two forms, and every binary frame, is input as it stands.

${framesOf(schemaOf(clientFrameSchema, "input"))}

## From the gateway

Without a subprotocol: text frames of output, and \`exit\` as the last. With the subprotocol \`${terminalProtocol}\` text frames are always one of these:

${framesOf(schemaOf(serverFrameSchema, "output"))}

and output comes in binary frames, with ${outputFrameHeadBytes} bytes before it: the kind, then an offset in ${outputFrameHeadBytes - 1} bytes, big-endian. Of output it is that of the frame's
first byte; of a screen, that of the output that comes next: empty the terminal, then write the rest.

${table(["first byte", ""], binary)}

## An exchange

As it went with a program that asks for a name, greets, and ends with 3: \`>\` is from the client, \`<\` from the gateway. A binary frame is shown by its
${outputFrameHeadBytes} bytes, in hexadecimal, and its rest as JSON would write it; frames of output that follow each other are put together.

\`\`\`text
${readFileSync(exchangeFile, "utf8").trimEnd()}
\`\`\`

## Close codes

${table(["code", "what to do"], codes)}

A connection that breaks without a code (1006) is as 1012.
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
    required.includes(name) ? "" : "may be left out",
    field.description ?? "",
  ]);
  return table(["field", "type", "", ""], rows);
}
