import type { RuleCreator } from "./rule-store.ts";

/** Whether an account still holds `coding:drive`, and the token or app is still in force. */
export type MayDrive = (creator: RuleCreator) => Promise<boolean>;

/** Writes an entry of the audit log on behalf of the rule's creator. */
export interface RuleNote {
  readonly action: "permission_rule_added" | "permission_rule_removed" | "permission_rule_used";
  readonly accountId: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export type NoteRule = (entry: RuleNote) => Promise<void>;
