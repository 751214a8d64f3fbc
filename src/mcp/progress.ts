import type { Activity } from "../wire/coding.ts";
import type { McpDeps } from "./ports.ts";
import type { ToolCall } from "./tool-call.ts";

const doing: Readonly<Record<Activity, string>> = {
  starting: "is starting",
  working: "is working",
  idle: "is idle",
  needs_permission: "waits for a permission",
  needs_answer: "waits for an answer",
  needs_attention: "shows something in its terminal that needs the user",
  needs_login: "needs somebody to log in",
  limited: "has reached a limit of its vendor",
};

/**
 * Reports every few seconds for as long as the call goes on.
 * @param input its arguments, parsed
 * @returns ends it
 */
export function reportWhile(
  deps: Pick<McpDeps, "clock" | "sessions"> & { readonly progressMs: number },
  call: ToolCall,
  input: Readonly<Record<string, unknown>>,
): () => void {
  const { progress, signal } = call;
  if (progress === null) return () => undefined;
  const { clock, progressMs } = deps;
  const began = clock.now();
  const waitMs = typeof input["waitMs"] === "number" ? input["waitMs"] : null;
  let told = 0;
  let over = false;
  let cancel = (): void => undefined;

  async function report(): Promise<void> {
    const words = await wordsFor(deps, call, input);
    if (over || signal.aborted) return;
    // It has to grow with each report (MCP, "Progress flow").
    told = Math.max((clock.now() - began) / 1_000, told + 0.001);
    const total = waitMs === null ? {} : { total: Math.max(told, waitMs / 1_000) };
    await progress?.({ progress: told, ...total, message: `${words} (${Math.round(told)} s)` });
  }

  function later(): void {
    cancel = clock.after(progressMs, () => {
      // A client that cannot be told is gone; then the call's own signal ends it.
      void report()
        .catch(() => undefined)
        .then(() => {
          if (!over && !signal.aborted) later();
        });
    });
  }
  later();
  return () => {
    over = true;
    cancel();
  };
}

/** What the session does, when it is known which one it is. */
async function wordsFor(
  { sessions }: Pick<McpDeps, "sessions">,
  { tool, principal, signal }: ToolCall,
  { sessionId }: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (typeof sessionId !== "string") return tool.name === "coding_ask" ? "A new session works on it" : "Working";
  try {
    const { agent, activity, status } = await sessions.read({ sessionId, last: 1, blocks: false }, principal, signal);
    return `${agent} ${activity === null ? `is ${status}` : doing[activity]}`;
  } catch {
    return "Waiting"; // the call itself says what is wrong with the session
  }
}
