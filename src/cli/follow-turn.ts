import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import { type AskOutput, maxWaitMs, readOutputSchema, type SessionSummary } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import { plainLine } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

/** A day, in seconds. */
export const maxFollowS = 86_400;
const heartbeatMs = 15_000;
/** Between two reads that return immediately. */
const pauseMs = 200;

/** A session with the turns that follow a prompt or an answer. */
interface Followed extends SessionSummary {
  readonly turns?: AskOutput["turns"];
  readonly delivered: AskOutput["delivered"];
}

/** Keeps waiting if the turn takes longer than the longest wait of one call. */
export async function followTurn<T extends Followed>(
  first: T,
  { client, deadline, context }: { client: PosternClient; deadline: number; context: CliContext },
): Promise<T> {
  let answer = first;
  const turns = new Map<number, Turn>((first.turns ?? []).map((turn) => [turn.index, turn]));
  // The last turn is read again, because it may have grown. If there are no turns yet, only newer turns belong to this prompt.
  let after = turns.size > 0 ? Math.max(...turns.keys()) - 1 : first.turnCount - 1;
  while (isUnderWay(answer) && context.clock.now() < deadline) {
    await context.clock.sleep(pauseMs);
    // If the session changed during the pause, the call returns at once, because the activity differs.
    const { sessionId, activity } = answer;
    const input = { sessionId, after, activity, waitMs: waitUntil(deadline, context) };
    const read = await client.codingReadSession(input, { output: readOutputSchema });
    const { turns: grown, nextAfter, skippedLines: _skippedLines, ...summary } = read;
    for (const turn of grown) turns.set(turn.index, turn);
    after = nextAfter;
    answer = { ...answer, ...summary, turns: [...turns.values()].toSorted((a, b) => a.index - b.index) };
  }
  return answer;
}

/** Whether an agent is working, or is about to. */
export function isUnderWay(session: SessionSummary): boolean {
  if (session.status === "completed" || session.status === "failed") return false;
  if (session.activity === null) return false;
  return (
    session.activity === "starting" ||
    session.activity === "working" ||
    (session.activity === "idle" && session.queuedPrompts > 0)
  );
}

/** Milliseconds that one call can wait. */
export function waitUntil(deadline: number, context: CliContext): number {
  return Math.max(0, Math.min(maxWaitMs, deadline - context.clock.now()));
}

/** Prints from time to time that the command waits, until it is stopped. */
export function startHeartbeat(context: CliContext): () => void {
  const startedAt = context.clock.now();
  let cancel: () => void;
  const beat = (): void => {
    cancel = context.clock.after(heartbeatMs, () => {
      context.stderr(`Waiting for the agent (${Math.round((context.clock.now() - startedAt) / 1000)} s)\n`);
      beat();
    });
  };
  beat();
  return () => cancel();
}

/** Scripts rely on the exit code: success means that the turn was completed. */
export function failWhenUnfinished(answer: Followed): void {
  const id = plainLine(answer.sessionId);
  if (answer.status === "failed") {
    const how = answer.signal === null ? `exited with code ${answer.exitCode}` : `was ended by ${answer.signal}`;
    throw new PosternError(
      "agent_failed",
      `${answer.agent} ${how} without an answer. Check it with \`postern doctor --smoke\`, then ask again.`,
    );
  }
  if (answer.delivered === false) {
    throw new PosternError(
      "agent_failed",
      `The prompt was not delivered to session ${id}. Send it again; see \`postern coding read ${id}\`.`,
    );
  }
  switch (answer.activity) {
    case "needs_permission":
    case "needs_answer":
      throw new PosternError("agent_needs_you", whatItWaitsFor(answer));
    case "needs_attention":
      throw new PosternError(
        "agent_needs_you",
        `${answer.agent} shows a dialog or message. Answer it with \`postern attach ${id}\`${answer.delivered === true ? "" : "; your prompt is queued until then"}.`,
      );
    case "needs_login":
      throw new PosternError(
        "agent_needs_you",
        `${answer.agent} is not logged in. Log in with \`postern coding setup --agent ${answer.agent} --login\`, then try again.`,
      );
    case "limited":
      throw new PosternError(
        "agent_needs_you",
        `${answer.agent} is rate limited${answer.resetsAt === null ? "" : ` until ${answer.resetsAt}`}.`,
      );
    default:
      if (answer.turnFailure !== null && answer.delivered === true && !isUnderWay(answer)) {
        throw new PosternError("agent_failed", `${answer.agent} did not answer: ${plainLine(answer.turnFailure)}`);
      }
  }
}

// `postern coding answer` without a decision prints the full request.
const maxAskedLength = 300;

function cut(text: string): string {
  return text.length <= maxAskedLength ? text : `${text.slice(0, maxAskedLength)}…`;
}

/** What the session is waiting for, and the commands that answer it. */
function whatItWaitsFor({ sessionId, activity, permissions }: SessionSummary): string {
  const id = plainLine(sessionId);
  const what = activity === "needs_answer" ? "an answer" : "permission";
  if (!permissions.some(({ answerable }) => answerable)) {
    return `Session ${id} is waiting for ${what} in its terminal. Stop the turn with \`postern coding interrupt ${id}\`, or end it with \`postern coding close ${id}\`.`;
  }
  const asked = permissions.map(({ tool, input }) => cut(`${tool} ${JSON.stringify(input)}`)).join("; ");
  const how =
    activity === "needs_answer"
      ? `Answer with \`postern coding answer ${id} --answer "question=answer"\`, or --allow for a plan`
      : `Answer with \`postern coding answer ${id} --allow\``;
  return `Session ${id} is waiting for ${what}: ${asked}. ${how}, or --deny. With --wait, it prints what follows.`;
}
