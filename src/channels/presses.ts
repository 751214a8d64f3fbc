import type { ChatMessage } from "../chats/index.ts";
import { hasCode } from "../core/errors.ts";
import { answerPermissionInputSchema, type PendingPermission } from "../wire/coding.ts";
import { cancelPrompt } from "./chat-queue.ts";
import { questionKey } from "./reports.ts";
import { byRule, offerRule, ruleOfferSettled } from "./rule-offers.ts";
import {
  type Choice,
  chooseAgent,
  chooseFolder,
  chooseSession,
  closeSession,
  type Dealing,
  type Dealt,
  interruptSession,
  type Pressed,
  shortHash,
} from "./session-actions.ts";
import { dialogChoices, settledQuestion, simpleQuestion } from "./session-messages.ts";
import { plainLine } from "./styled.ts";

/** Handles a button press. Looks everything up again, because the button may be old or another user's. */
export async function press(dealing: Dealing, dealt: Dealt, data: string): Promise<Pressed> {
  const [kind = "", ...rest] = data.split(":");
  const value = rest.join(":");
  switch (kind) {
    case "p":
    case "q":
    case "d":
    case "r":
      return decide(dealing, dealt, { kind, value });
    case "o":
      return offerRule(dealing, dealt, value);
    case "x":
      return cancelPrompt(dealing, dealt, value);
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
      return { notice: "This button is no longer valid." };
  }
}

const keptAnswerSchema = answerPermissionInputSchema.pick({ decision: true, choice: true });

async function decide(
  dealing: Dealing,
  dealt: Dealt,
  { kind, value }: { readonly kind: "p" | "q" | "d" | "r"; readonly value: string },
): Promise<Pressed> {
  const { deps, reports } = dealing;
  const [permissionId = "", choice = ""] = value.split(":");
  const key = questionKey(dealt.incoming.chatId, permissionId);
  const first = await deps.chats.outbox.find(key);
  if (first?.sessionId == null) return { notice: "This request is no longer available." };
  const { sessionId } = first;
  // Meanwhile, nothing else must report that it was answered elsewhere.
  return reports.exclusively(sessionId, async () => {
    const question = await deps.chats.outbox.find(key);
    if (question === null || question.final) return { notice: "Already answered." };
    const place = { sessionId, permissionId, choice };
    const wanted =
      kind === "p"
        ? byPermission(choice)
        : kind === "r"
          ? await byRule(dealing, place)
          : await byOffer(dealing, { kind, ...place });
    if (wanted === null) return { notice: "This choice is no longer available." };
    const outcome = await answered(dealing, dealt, { ...wanted, question, sessionId, permissionId });
    const body = JSON.stringify(settledQuestion(question.body, outcome.words));
    const change = outcome.settled
      ? [
          { key, body, final: true },
          ...(await ruleOfferSettled(dealing, dealt, { permissionId, words: outcome.words })),
        ]
      : [];
    return { sessionId, change, notice: outcome.words.slice(0, 200) };
  });
}

function byPermission(choice: string): Choice | null {
  if (choice === "a") return { answer: { decision: "allow" }, words: "✅ Allowed" };
  return choice === "d" ? { answer: { decision: "deny" }, words: "❌ Denied" } : null;
}

async function byOffer(
  { sessions, signal }: Dealing,
  offer: { readonly kind: "q" | "d" } & Readonly<Record<"sessionId" | "permissionId" | "choice", string>>,
): Promise<Choice | null> {
  const { kind, sessionId, permissionId, choice } = offer;
  const session = await sessions.read({ sessionId, last: 1, blocks: false }, signal);
  const pending = session.permissions.find((permission) => permission.permissionId === permissionId);
  // If the question is gone, its options are too. Sending the answer then returns the error.
  if (pending === undefined) {
    return { answer: kind === "q" ? { decision: "allow" } : { choice }, words: "💬 Answered" };
  }
  return kind === "q" ? byOption(pending, choice) : byChoice(pending, choice);
}

function byOption(pending: PendingPermission, choice: string): Choice | null {
  const simple = simpleQuestion(pending);
  const option = simple?.options[Number(choice)];
  if (simple === null || option === undefined) return null;
  return {
    answer: { decision: "allow", answers: { [simple.question]: option.label } },
    words: chosen(option.label),
  };
}

function byChoice(pending: PendingPermission, choice: string): Choice | null {
  const offered = dialogChoices(pending)?.find(({ choiceId }) => choiceId === choice);
  return offered === undefined ? null : { answer: { choice }, words: chosen(offered.label) };
}

function chosen(label: string): string {
  return `💬 “${plainLine(label, 100)}” chosen`;
}

async function answered(
  { sessions, deps, signal }: Dealing,
  { update, incoming }: Dealt,
  choice: Choice & { readonly question: ChatMessage; readonly sessionId: string; readonly permissionId: string },
): Promise<{ readonly words: string; readonly settled: boolean }> {
  const { sessionId, permissionId, answer, words } = choice;
  const by = `${words} by ${plainLine(incoming.userName, 60)}`;
  const before = update.request === null ? null : keptAnswerSchema.safeParse(JSON.parse(update.request)).data;
  const kept = { decision: answer.decision, choice: answer.choice };
  await deps.chats.inbox.keepRequest(update.updateId, JSON.stringify(kept));
  try {
    await sessions.answer({ sessionId, permissionId, ...answer }, signal);
    return { words: by, settled: true };
  } catch (error) {
    // The gateway stopped while processing this press, so this was most likely the accepted answer.
    if (hasCode(error, "permission_gone") && before != null) return { words: by, settled: true };
    if (hasCode(error, "permission_gone")) {
      return { words: "⏹ No longer open: it was answered elsewhere, or the turn was stopped.", settled: true };
    }
    if (hasCode(error, "permission_pending") && answer.choice !== undefined) {
      return {
        words: "The dialog did not accept this choice. Try again, or answer it in the terminal.",
        settled: false,
      };
    }
    if (hasCode(error, "permission_pending")) {
      return { words: "The agent is now asking in its own dialog. Answer it in the terminal.", settled: true };
    }
    if (hasCode(error, "insufficient_scope")) {
      return { words: "This chat cannot answer requests: it needs the scope coding:drive.", settled: false };
    }
    throw error;
  }
}
