import type { MessageChange } from "../chats/index.ts";
import { hasCode } from "../core/errors.ts";
import type { PermissionRulesPreview } from "../wire/permission-rules.ts";
import { questionKey } from "./reports.ts";
import { type Choice, type Dealing, type Dealt, type Pressed, shortHash } from "./session-actions.ts";
import { settledQuestion } from "./session-messages.ts";
import { bold, plainMessage, plainWords, shortened, styled } from "./styled.ts";

const remember = { for: "session" } as const;
const maxWordsLength = 3_000;

function offerKey(chatId: string, permissionId: string): string {
  return `rule:${chatId}:${permissionId}`;
}

/** Describes the standing rules that would allow this request for the rest of its session, before they are saved. */
export async function offerRule(dealing: Dealing, { incoming }: Dealt, permissionId: string): Promise<Pressed> {
  const { deps, sessions } = dealing;
  const { chatId, messageId } = incoming;
  const question = await deps.chats.outbox.find(questionKey(chatId, permissionId));
  if (question?.sessionId == null || question.final) return { notice: "This request is no longer available." };
  const { sessionId } = question;
  const preview = await sessions.previewRules({ sessionId, permissionId, remember });
  const obstacle = obstacleIn(preview);
  if (obstacle !== null) return { sessionId, notice: obstacle };
  const words = shortened(plainWords(preview.rules.map((rule) => rule.words).join("\n")), maxWordsLength);
  const body = plainMessage(styled(bold("For the rest of this session:"), `\n${words}`), {
    replyTo: messageId,
    buttons: [[{ label: "✅ Allow and remember", data: `r:${permissionId}:${hashOf(preview)}` }]],
  });
  return { sessionId, keyed: [{ key: offerKey(chatId, permissionId), body: JSON.stringify(body) }], notice: "" };
}

/** Why these rules cannot be added from a chat; null if they can. */
function obstacleIn({ rules, covers, refusal, undriven }: PermissionRulesPreview): string | null {
  if (refusal !== null) return shortened(plainWords(`No rule: ${refusal}`), 190);
  if (undriven)
    return "This session also received prompts from callers who cannot answer permission requests. Add the rule in the web application.";
  if (!covers || rules.some(({ tooBroad }) => tooBroad !== null)) {
    return "A rule for this would be too broad. Allow it once, or add a rule in the web application.";
  }
  return null;
}

/** Identifies the rules that were shown. */
function hashOf({ rules }: PermissionRulesPreview): string {
  return shortHash(JSON.stringify(rules.map(({ tool, pattern, words }) => [tool, pattern, words]))).slice(0, 8);
}

/** Allows a request with the rules that were shown for it. @returns null if the rules have changed since */
export async function byRule(
  { sessions }: Dealing,
  offer: { readonly sessionId: string; readonly permissionId: string; readonly choice: string },
): Promise<Choice | null> {
  const { sessionId, permissionId, choice } = offer;
  const words = "✅ Allowed for this session";
  const preview = await sessions.previewRules({ sessionId, permissionId, remember }).catch((error: unknown) => {
    if (hasCode(error, "permission_gone")) return null;
    throw error;
  });
  if (preview === null) return { answer: { decision: "allow" }, words }; // the answer then says that it is gone
  if (hashOf(preview) !== choice || obstacleIn(preview) !== null) return null;
  const patterns = preview.rules.map(({ pattern }) => pattern);
  return { answer: { decision: "allow", remember: { ...remember, patterns } }, words };
}

/** The offer of a request that was answered, with the result instead of its button. */
export async function ruleOfferSettled(
  { deps }: Dealing,
  { incoming }: Dealt,
  { permissionId, words }: { readonly permissionId: string; readonly words: string },
): Promise<readonly MessageChange[]> {
  const key = offerKey(incoming.chatId, permissionId);
  const offer = await deps.chats.outbox.find(key);
  if (offer === null || offer.final) return [];
  return [{ key, body: JSON.stringify(settledQuestion(offer.body, words)), final: true }];
}
