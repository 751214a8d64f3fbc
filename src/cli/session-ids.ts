import { request } from "node:http";

/** Longer than a list that a person would choose from. */
const maxIds = 50;
/** More than a list of 50 sessions needs. */
const maxAnswerBytes = 4 * 1024 * 1024;

/**
 * Prints the newest sessions for shell completion, one `id<tab>title` per line, or nothing if no gateway responds in time. Imports no other
 * module, because each would make the user wait longer after Tab.
 *
 * @param options `withinMs`: the deadline, counted from the start of this process
 */
export async function printSessionIds(socketPath: string, { withinMs }: { readonly withinMs: number }): Promise<void> {
  const leftMs = withinMs - performance.now();
  const text = leftMs > 0 ? await ask(socketPath, leftMs) : "";
  const lines = sessionsIn(text).map(({ id, title }) => `${id}\t${title}`);
  await new Promise<void>((taken) => process.stdout.write(lines.map((line) => `${line}\n`).join(""), () => taken()));
}

/** Empty for any failure. */
function ask(socketPath: string, withinMs: number): Promise<string> {
  return new Promise((resolve) => {
    const none = (): void => resolve("");
    const body = JSON.stringify({ limit: maxIds });
    const headers = {
      host: "localhost",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const path = "/api/coding/coding_list_sessions";
    const outgoing = request({ socketPath, path, method: "POST", headers, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > maxAnswerBytes) outgoing.destroy();
      });
      answer
        .on("end", () => resolve(text))
        .on("error", none)
        .on("close", none);
    });
    outgoing.on("error", none);
    setTimeout(() => outgoing.destroy(), withinMs).unref();
    setTimeout(none, withinMs);
    outgoing.end(body);
  });
}

function sessionsIn(text: string): readonly { readonly id: string; readonly title: string }[] {
  try {
    const list: unknown = JSON.parse(text);
    if (typeof list !== "object" || list === null || !("sessions" in list) || !Array.isArray(list.sessions)) return [];
    return list.sessions.flatMap((session: unknown) => namesOf(session));
  } catch {
    return []; // no answer
  }
}

/** Titles come from transcripts, whose control characters would reach the shell. */
function namesOf(session: unknown): readonly { readonly id: string; readonly title: string }[] {
  if (typeof session !== "object" || session === null || !("sessionId" in session)) return [];
  const { sessionId: id } = session;
  const title = "title" in session && typeof session.title === "string" ? session.title : "";
  if (typeof id !== "string" || !/^[\w-]+$/.test(id)) return [];
  return [
    {
      id,
      title: title
        .replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, " ")
        .slice(0, 60)
        .trim(),
    },
  ];
}
