import type { IncomingMessage } from "node:http";
import { z } from "zod";

/** The body of a request to the Bot API: JSON, or a form with a file, which becomes `document`. */
export async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(z.instanceof(Uint8Array).parse(chunk));
  const whole = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data")) {
    return whole.length === 0 ? {} : z.record(z.string(), z.unknown()).parse(JSON.parse(whole.toString("utf8")));
  }
  const form = await new Response(whole, { headers: { "content-type": type } }).formData();
  const body: Record<string, unknown> = {};
  for (const [name, value] of form.entries()) {
    if (typeof value === "string") body[name] = name === "caption" ? value : parsed(value);
    else body["document"] = { name: value.name, content: await value.text() };
  }
  return body;
}

/** The fields of a form as JSON; `attach://` refers to the file itself. */
function parsed(value: string): unknown {
  if (!/^[[{"\d]|^(true|false)$/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value; // a text that only begins like JSON
  }
}
