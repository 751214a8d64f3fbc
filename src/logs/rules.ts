import type { Turn } from "../wire/turn.ts";
import { type Assertion, distinct, type EntityRef, keyOf, type TaggedAssertion } from "./assertion.ts";
import { assertionsOfCall, type FilePlace } from "./rules-calls.ts";
import { assertionsOfText } from "./rules-text.ts";

/** Stored with each fact. Increase the number when a change of the rules changes what they find. */
const rulesName = "rules@1";

/** Context of an entry. */
export interface LogContext extends FilePlace {
  readonly agent: string | null;
  /** The branch at the start of the first turn. */
  readonly branch: string | null;
}

/** An entry's content, secrets masked. */
export type LogBody =
  | { readonly form: "text"; readonly text: string }
  | { readonly form: "turns"; readonly turns: readonly Turn[] };

export interface RulesInput {
  readonly sessionId: string | null;
  /** Milliseconds since the epoch, for turns without a time. */
  readonly observedAt: number;
  readonly context: LogContext;
  readonly body: LogBody;
}

/** The subject for entries without a session. */
const noSession = "api";

export function sessionOf(sessionId: string | null): EntityRef {
  return { type: "Session", key: keyOf(sessionId ?? noSession) };
}

/** Finds assertions by form alone: without a model or network, deterministically, in linear time. */
export function rules(input: RulesInput): readonly TaggedAssertion[] {
  const session = sessionOf(input.sessionId);
  const found: Assertion[] = contextOf(input, session);
  if (input.body.form === "text") {
    found.push(...assertionsOfText(input.body.text, { session, at: input.observedAt }));
  } else {
    for (const turn of input.body.turns) found.push(...ofTurn(turn, session, input));
  }
  return distinct(found).map((one) => ({ ...one, extractor: rulesName }));
}

function contextOf({ context, body, observedAt }: RulesInput, session: EntityRef): Assertion[] {
  const found: Assertion[] = [];
  // Dated to the first turn, so that later facts supersede it.
  const at = (body.form === "turns" ? timeOf(body.turns.at(0)?.at ?? null) : null) ?? observedAt;
  const { agent, repository, branch } = context;
  if (agent !== null) found.push({ subject: session, predicate: "by_agent", object: keyOf(agent), at });
  if (repository !== null) {
    found.push({
      subject: session,
      predicate: "in_repository",
      object: { type: "Repository", key: keyOf(repository) },
      at,
    });
  }
  if (branch !== null) {
    found.push({ subject: session, predicate: "current_branch", object: { type: "Branch", key: keyOf(branch) }, at });
  }
  return found;
}

function ofTurn(turn: Turn, session: EntityRef, { observedAt, context }: RulesInput): readonly Assertion[] {
  const at = timeOf(turn.endedAt) ?? timeOf(turn.at) ?? observedAt;
  return turn.blocks.flatMap((block) => {
    if (block.type === "text") return assertionsOfText(block.text, { session, at });
    return block.type === "tool_call" ? assertionsOfCall(block, { session, at, place: context }) : [];
  });
}

function timeOf(iso: string | null): number | null {
  const time = iso === null ? Number.NaN : Date.parse(iso);
  return Number.isNaN(time) ? null : time;
}
