import { z } from "zod";
import { permissionModeSchema } from "../../src/wire/coding.ts";
import { draftOf, idempotencyKey as newIdempotencyKey } from "../session/drafts.ts";
import type { NewSession } from "./start-session.ts";

/** Stored with the prompt drafts; no session has this id. */
export const draftName = "new session";

const draftSchema = z.object({
  given: z
    .object({
      agent: z.string(),
      dir: z.string(),
      model: z.string(),
      permissionMode: permissionModeSchema,
      worktree: z.boolean(),
      baseBranch: z.string(),
      branch: z.string(),
      prompt: z.string(),
    })
    .partial(),
  idempotencyKey: z.string(),
});

/** The form and its request's idempotency key, which survive a reload. */
export interface Draft {
  readonly given: Partial<NewSession>;
  readonly idempotencyKey: string;
}

export function newDraft(): Draft {
  return { given: {}, idempotencyKey: newIdempotencyKey() };
}

/** The form as text for other devices; empty without a prompt. Fields are in the schema's order, so that equal forms give equal texts. */
export function sharedText(given: Partial<NewSession>): string {
  return given.prompt === undefined || given.prompt === "" ? "" : JSON.stringify(draftSchema.shape.given.parse(given));
}

export function sharedForm(text: string): Partial<NewSession> {
  try {
    const parsed: unknown = JSON.parse(text);
    const { given } = draftSchema.parse({ given: parsed, idempotencyKey: "" });
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  } catch {
    return {}; // empty, or of another version
  }
}

export function keptDraft(): Draft {
  try {
    const { given, idempotencyKey } = draftSchema.parse(JSON.parse(draftOf(localStorage, draftName)));
    const set = Object.entries(given).filter(([, value]) => value !== undefined);
    return { given: Object.fromEntries(set), idempotencyKey };
  } catch {
    return newDraft(); // there is none, or it is from another version
  }
}
