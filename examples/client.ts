// usage: GATEWAY=http://localhost:7177 TOKEN=pst_… node client.ts <directory> <prompt>
import { createInterface } from "node:readline/promises";

interface Session {
  readonly sessionId: string;
  readonly activity: string | null; // null: its agent has ended
  readonly permissions: readonly { readonly permissionId: string; readonly tool: string; readonly input: unknown }[];
  readonly turns: readonly { readonly role: string; readonly text: string }[];
}

async function call(tool: string, fields: object): Promise<Session> {
  const headers = { authorization: `Bearer ${process.env["TOKEN"]}`, "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(fields) };
  const answer = await fetch(`${process.env["GATEWAY"]}/api/coding/${tool}`, request);
  const body = await answer.json();
  if (answer.ok) return body;
  throw new Error(`${body.code}: ${body.detail}`);
}

const person = createInterface(process.stdin, process.stderr);
let session = await call("coding_ask", { dir: process.argv[2], prompt: process.argv[3], waitMs: 60_000 });
for (const { sessionId } = session; session.activity !== null && session.activity !== "idle"; ) {
  for (const { permissionId, tool, input } of session.permissions) {
    const said = await person.question(`The agent wants to use ${tool}: ${JSON.stringify(input)}. Allow? [y/N] `);
    await call("coding_answer_permission", { sessionId, permissionId, decision: said === "y" ? "allow" : "deny" });
  }
  session = await call("coding_read_session", { sessionId, last: 2, waitMs: 5_000 });
}
for (const { role, text } of session.turns) console.log(`${role}: ${text}`);
person.close();
