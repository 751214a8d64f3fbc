import { z } from "zod";
import { type EntityType, entityTypes } from "../../wire/logs.ts";
import { type Assertion, type EntityRef, keyOf, maxValueCharacters } from "../assertion.ts";
import { cut } from "../plain-text.ts";
import { topicOf } from "../rules-text.ts";

/** What a piece of a session says beyond this is a listing. */
export const maxClaims = 80;
/** How a model names the session that it reads. Of other sessions it can say nothing. */
export const thisSession = "this";

const namedThings = ["File", "Command", "Commit", "Branch", "Repository", "Url", "Tool", "Package", "Issue"] as const;

const claimablePredicates = [
  "decided",
  "status",
  "remembered",
  "mentioned",
  "read",
  "edited",
  "ran",
  "used",
  "installed",
  "committed",
  "in_repository",
] as const;

interface Claimable {
  readonly subjects: readonly EntityType[];
  /** Null for a text. */
  readonly objects: readonly EntityType[] | null;
}

/**
 * What a model may say. Not `current_branch`, `last_exit` and `by_agent`, which the rules read from what was really run: a model that was
 * led astray by a text cannot say that they are otherwise.
 */
const claimable: Readonly<Record<(typeof claimablePredicates)[number], Claimable>> = {
  decided: { subjects: ["Session"], objects: ["Decision"] },
  status: { subjects: ["Decision", "Issue"], objects: null },
  remembered: { subjects: ["Session"], objects: null },
  mentioned: { subjects: ["Session"], objects: namedThings },
  read: { subjects: ["Session"], objects: ["File"] },
  edited: { subjects: ["Session"], objects: ["File"] },
  ran: { subjects: ["Session"], objects: ["Command"] },
  used: { subjects: ["Session"], objects: ["Tool"] },
  installed: { subjects: ["Session"], objects: ["Package"] },
  committed: { subjects: ["Session"], objects: ["Commit"] },
  in_repository: { subjects: ["Session"], objects: ["Repository"] },
};

/** One claim. All members are always there: some providers know no optional ones. */
const claimSchema = z.strictObject({
  subjectType: z.enum(entityTypes),
  subject: z.string(),
  predicate: z.enum(claimablePredicates),
  objectType: z.enum(entityTypes).nullable(),
  object: z.string(),
});

/** What a model is asked to answer. */
export const answerSchema = z.strictObject({ facts: z.array(claimSchema) });

/** As much of an answer as has to be there. */
const anyAnswerSchema = z.looseObject({ facts: z.array(z.unknown()) });

/** The piece that a model read. */
export interface Piece {
  readonly text: string;
  readonly session: EntityRef;
  /** Milliseconds since the epoch. A model gives no times: it would have to guess. */
  readonly at: number;
}

/** What of an answer may be believed to be said in the piece; null when it has another form altogether. */
export function assertionsOf(answer: unknown, piece: Piece): readonly Assertion[] | null {
  const parsed = anyAnswerSchema.safeParse(answer);
  if (!parsed.success) return null;
  const text = folded(piece.text);
  const all = parsed.data.facts.slice(0, maxClaims).flatMap((given) => {
    const claim = claimSchema.safeParse(given);
    return claim.success ? ofClaim(claim.data, { ...piece, text }) : [];
  });
  const decided = new Set(
    all.flatMap(({ predicate, object }) => (predicate === "decided" && typeof object !== "string" ? [object.key] : [])),
  );
  // What was decided about it is said only by the piece that decided it.
  return all.filter(({ subject }) => subject.type !== "Decision" || decided.has(subject.key));
}

function ofClaim(claim: z.infer<typeof claimSchema>, piece: Piece): readonly Assertion[] {
  const { predicate, subjectType, objectType } = claim;
  const { subjects, objects } = claimable[predicate];
  if (!subjects.includes(subjectType)) return [];
  if (objects === null ? objectType !== null : objectType === null || !objects.includes(objectType)) return [];
  const subject = thing(subjectType, claim.subject, piece);
  const object =
    objectType === null ? cut(claim.object.trim(), maxValueCharacters) : thing(objectType, claim.object, piece);
  return subject === null || object === null || object === "" ? [] : [{ subject, predicate, object, at: piece.at }];
}

/** A thing that the piece names. What a decision is about is in a model's own words, all else has to be there as it is written. */
function thing(type: EntityType, name: string, { text, session }: Piece): EntityRef | null {
  if (type === "Session") return name === thisSession ? session : null;
  const key = keyOf(name);
  if (type === "Decision") return key === "" ? null : { type, key: topicOf(key) ?? key };
  return key !== "" && text.includes(folded(key)) ? { type, key } : null;
}

function folded(text: string): string {
  return text.replace(/\s+/g, " ").toLowerCase();
}
