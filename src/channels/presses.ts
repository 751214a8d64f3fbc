import { z } from "zod";
import type { ChatMessage } from "../chats/index.ts";
import { hasCode } from "../core/errors.ts";
import type { AnswerPermissionInput } from "../wire/coding.ts";
import { chooseAgent, chooseFolder, chooseSession, closeSession, interruptSession, shortHash } from "./choices.ts";
import type { Dealing, Dealt, Outcome } from "./dealing.ts";
import { settledQuestion, simpleQuestion } from "./questions.ts";
import { questionKey } from "./reports.ts";
import { plainLine } from "./styled.ts";

/** What a press did, in a few words that the chat program shows for a moment. */
export interface Pressed extends Outcome {
  readonly notice: string;
}

/** A button was pressed. Everything that it says is looked up here again: it may be old, or another's. */
export async function press(dealing: Dealing, dealt: Dealt, data: string): Promise<Pressed> {
  const [kind = "", ...rest] = data.split(":");
  const value = rest.join(":");
  switch (kind) {
    case "p":
    case "q":
      return decide(dealing, dealt, { kind, value });
    case "f":
      return { ...(await chooseFolder(dealing, (dir) => shortHash(dir) === value)), notice: "" };
    case "a":
      return { ...(await chooseAgent(dealing, (name) => shortHash(name) === value)), notice: "" };
    case "s":
      return { ...(await chooseSession(dealing, dealt, value)), notice: "" };
    case "i":
      return { ...(await interruptSession(dealing, value)), notice: "" };
    case "c":
      return { ...(await closeSession(dealing, value)), notice: "" };
    default:
      return { notice: "This button is not known any more." };
  }
}

const keptDecisionSchema = z.object({ decision: z.enum(["allow", "deny"]) });

async function decide(
  dealing: Dealing,
  dealt: Dealt,
  { kind, value }: { readonly kind: "p" | "q"; readonly value: string },
): Promise<Pressed> {
  const { deps, reports } = dealing;
  const [permissionId = "", choice = ""] = value.split(":");
  const key = questionKey(dealt.incoming.chatId, permissionId);
  const first = await deps.chats.outbox.find(key);
  if (first?.sessionId == null) return { notice: "This question is not known any more." };
  const { sessionId } = first;
  // Nobody else may say meanwhile that it was answered elsewhere.
  return reports.exclusively(sessionId, async () => {
    const question = await deps.chats.outbox.find(key);
    if (question === null || question.final) return { notice: "It was decided before." };
    const wanted = kind === "p" ? byPermission(choice) : await byOption(dealing, { sessionId, permissionId, choice });
    if (wanted === null) return { notice: "This choice is not known any more." };
    const outcome = await answered(dealing, dealt, { ...wanted, question, sessionId, permissionId });
    const body = JSON.stringify(settledQuestion(question.body, outcome.words));
    const change = outcome.settled ? [{ key, body, final: true }] : [];
    return { sessionId, change, notice: outcome.words.slice(0, 200) };
  });
}

interface Choice {
  readonly decision: "allow" | "deny";
  readonly answers?: Readonly<Record<string, string>>;
  /** What it is called when it was done. */
  readonly words: string;
}

function byPermission(choice: string): Choice | null {
  if (choice === "a") return { decision: "allow", words: "✅ Allowed" };
  return choice === "d" ? { decision: "deny", words: "❌ Denied" } : null;
}

async function byOption(
  { sessions, signal }: Dealing,
  { sessionId, permissionId, choice }: Readonly<Record<"sessionId" | "permissionId" | "choice", string>>,
): Promise<Choice | null> {
  const session = await sessions.read({ sessionId, last: 1, blocks: false }, signal);
  const pending = session.permissions.find((permission) => permission.permissionId === permissionId);
  // Of one that is gone the options are gone too; the answer then says so.
  if (pending === undefined) return { decision: "allow", words: "💬 Answered" };
  const simple = simpleQuestion(pending);
  const option = simple?.options[Number(choice)];
  if (simple === null || option === undefined) return null;
  const words = `💬 “${plainLine(option.label, 100)}”, chosen`;
  return { decision: "allow", answers: { [simple.question]: option.label }, words };
}

async function answered(
  { sessions, deps, signal }: Dealing,
  { update, incoming }: Dealt,
  choice: Choice & { readonly question: ChatMessage; readonly sessionId: string; readonly permissionId: string },
): Promise<{ readonly words: string; readonly settled: boolean }> {
  const { sessionId, permissionId, decision, answers, words } = choice;
  const by = `${words} by ${plainLine(incoming.userName, 60)}`;
  const before = update.request === null ? null : keptDecisionSchema.safeParse(JSON.parse(update.request)).data;
  await deps.chats.inbox.keepRequest(update.updateId, JSON.stringify({ decision }));
  const input: AnswerPermissionInput = {
    sessionId,
    permissionId,
    decision,
    ...(answers === undefined ? {} : { answers: { ...answers } }),
  };
  try {
    await sessions.answer(input, signal);
    return { words: by, settled: true };
  } catch (error) {
    // The gateway ended while this very press was dealt with: it was this answer that was taken, as far as anybody can tell.
    if (hasCode(error, "permission_gone") && before != null) return { words: by, settled: true };
    if (hasCode(error, "permission_gone")) {
      return { words: "⏹ No longer open: answered elsewhere, or the turn was stopped.", settled: true };
    }
    if (hasCode(error, "permission_pending")) {
      return { words: "It waits in the agent's own dialog by now: answer it in its terminal.", settled: true };
    }
    if (hasCode(error, "insufficient_scope")) {
      return { words: "Chats may not answer this: it needs coding:drive.", settled: false };
    }
    throw error;
  }
}
