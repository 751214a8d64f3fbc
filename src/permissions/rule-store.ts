import type { Kysely, Selectable } from "kysely";
import type { Clock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import type { Rule } from "./evaluate.ts";

/** Who created a rule, and with which credential. */
export interface RuleCreator {
  readonly accountId: string;
  readonly kind: Tables["permission_rules"]["creator_kind"];
  /** Id of the token or app. */
  readonly credential: string | null;
}

/** A stored rule. Times are epoch milliseconds. */
export interface StoredRule extends Rule {
  readonly creator: RuleCreator & { readonly name: string };
  readonly createdAt: number;
  readonly uses: number;
  readonly lastUsedAt: number | null;
}

/** SQL for standing rules. Nothing is cached, so that a deleted rule stops answering immediately. */
export interface RuleStore {
  /** All rules that have not expired, oldest first. */
  inForce(): Promise<readonly StoredRule[]>;
  /** @param accountId null for the rules of all accounts */
  list(accountId: string | null): Promise<readonly StoredRule[]>;
  count(accountId: string): Promise<number>;
  add(rule: Omit<Rule, "ruleId">, creator: RuleCreator): Promise<StoredRule>;
  /** @returns the rule; null if there was none, or it is another account's */
  remove(ruleId: string, accountId: string | null): Promise<StoredRule | null>;
  /** Counts a use of each, if it still exists. */
  noteUse(ruleIds: readonly string[]): Promise<void>;
  isUndriven(sessionIds: readonly string[]): Promise<boolean>;
}

export function createRuleStore({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }): RuleStore {
  const rules = () =>
    db
      .selectFrom("permission_rules as rule")
      .innerJoin("accounts as account", "account.account_id", "rule.account_id")
      .selectAll("rule")
      .select("account.name as account_name")
      .orderBy("rule.created_at")
      .orderBy("rule.rule_id");
  const find = (ruleId: string) => rules().where("rule.rule_id", "=", ruleId).executeTakeFirst();

  return {
    async inForce() {
      const rows = await rules()
        .where((eb) => eb.or([eb("rule.expires_at", "is", null), eb("rule.expires_at", ">", clock.now())]))
        .execute();
      return rows.map(toRule);
    },

    async list(accountId) {
      const rows = await rules()
        .$if(accountId !== null, (query) => query.where("rule.account_id", "=", accountId ?? ""))
        .execute();
      return rows.map(toRule);
    },

    async count(accountId) {
      const { held } = await db
        .selectFrom("permission_rules")
        .select(({ fn }) => fn.countAll<number>().as("held"))
        .where("account_id", "=", accountId)
        .executeTakeFirstOrThrow();
      return held;
    },

    async add(rule, creator) {
      const ruleId = newUuid();
      await db
        .insertInto("permission_rules")
        .values({
          rule_id: ruleId,
          account_id: creator.accountId,
          creator_kind: creator.kind,
          creator_credential: creator.credential,
          effect: rule.effect,
          agent: rule.agent,
          session_id: rule.sessionId,
          dir: rule.dir,
          tool: rule.tool,
          pattern: rule.pattern,
          undriven: Number(rule.undriven),
          created_at: clock.now(),
          expires_at: rule.expiresAt,
          uses: 0,
          last_used_at: null,
        })
        .execute();
      const row = await find(ruleId);
      if (row === undefined) throw new Error(`The rule ${ruleId} was removed while it was added.`);
      return toRule(row);
    },

    async remove(ruleId, accountId) {
      const row = await find(ruleId);
      if (row === undefined || (accountId !== null && row.account_id !== accountId)) return null;
      const { numDeletedRows } = await db
        .deleteFrom("permission_rules")
        .where("rule_id", "=", ruleId)
        .executeTakeFirstOrThrow();
      return numDeletedRows === 0n ? null : toRule(row);
    },

    async noteUse(ruleIds) {
      // One statement for each, always in the same order, so that two answers with the same rules cannot deadlock.
      for (const ruleId of [...ruleIds].toSorted()) {
        await db
          .updateTable("permission_rules")
          .set((eb) => ({ uses: eb("uses", "+", 1), last_used_at: clock.now() }))
          .where("rule_id", "=", ruleId)
          .execute();
      }
    },

    async isUndriven(sessionIds) {
      if (sessionIds.length === 0) return true;
      const row = await db
        .selectFrom("undriven_sessions")
        .select("session_id")
        .where("session_id", "in", [...sessionIds])
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },
  };
}

type Row = Selectable<Tables["permission_rules"]> & { readonly account_name: string };

function toRule(row: Row): StoredRule {
  return {
    ruleId: row.rule_id,
    effect: row.effect,
    agent: row.agent,
    sessionId: row.session_id,
    dir: row.dir,
    tool: row.tool,
    pattern: row.pattern,
    undriven: row.undriven === 1,
    expiresAt: row.expires_at,
    creator: {
      accountId: row.account_id,
      name: row.account_name,
      kind: row.creator_kind,
      credential: row.creator_credential,
    },
    createdAt: row.created_at,
    uses: row.uses,
    lastUsedAt: row.last_used_at,
  };
}
