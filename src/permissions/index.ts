import type { Kysely } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { Tables } from "../storage/schema.ts";
import type { Caller } from "../wire/caller.ts";
import type {
  PermissionRule,
  PermissionRulesPreview,
  RememberPermission,
  RuledRequest,
  RuleEffect,
  RuleVerdict,
} from "../wire/permission-rules.ts";
import { commandsNaming, evaluate, isWithin, type RuleRequest } from "./evaluate.ts";
import { breadthOf, checkRule, type NewRule, rulesToRemember } from "./new-rules.ts";
import type { MayDrive, NoteRule } from "./ports.ts";
import { createRuleStore, type RuleCreator, type StoredRule } from "./rule-store.ts";
import { ruleWords } from "./rule-words.ts";

export type { NewRule } from "./new-rules.ts";
export { expiryOf } from "./new-rules.ts";
export type { MayDrive, NoteRule, RuleNote } from "./ports.ts";
export type { RuleCreator } from "./rule-store.ts";

/** Codes that standing rules throw. */
export type PermissionRulesErrorCode = "invalid_request" | "rule_too_broad" | "rule_not_found" | "insufficient_scope";

/** An answer that is to apply to later requests too. */
export interface Remembered {
  readonly effect: RuleEffect;
  readonly remember: RememberPermission;
}

/** Standing rules: answers that apply to more than one permission request. */
export interface PermissionRules {
  /** The answer of the rules as they are now, with the words for a denial; null if they have none. */
  verdictOn(request: RuledRequest): Promise<RuleVerdict | null>;
  /** Counts and audits an answer that the agent accepted. Never throws. */
  noteUse(verdict: Pick<RuleVerdict, "ruleIds">, request: RuledRequest): Promise<void>;
  /** The rules that an answer would add. Nothing is stored. @throws PosternError `invalid_request` */
  preview(request: RuledRequest, remembered: Remembered): Promise<PermissionRulesPreview>;
  /**
   * Adds the rules of an answer. @returns a function that removes them again, if the agent did not accept the answer @throws PosternError `invalid_request` | `rule_too_broad`
   */
  remember(request: RuledRequest, remembered: Remembered, caller: Caller): Promise<() => Promise<void>>;
  /** @throws PosternError `invalid_request` | `rule_too_broad` */
  add(rule: NewRule, confirmed: readonly string[], caller: Caller): Promise<PermissionRule>;
  /** The account's own rules; with the scope `admin`, the rules of all accounts. */
  list(caller: Caller): Promise<readonly PermissionRule[]>;
  /** Takes effect at once. @throws PosternError `rule_not_found` */
  remove(ruleId: string, caller: Caller): Promise<void>;
}

/** Our own limit: all rules are read for each permission request. */
const maxRules = 500;

/** @param deps `home` is the real path of Postern's own folder, in which no rule allows anything */
export function createPermissionRules(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly home: string;
  readonly mayDrive: MayDrive;
  /** Whether agents can work in this folder at all. */
  readonly isVisible: (dir: string) => Promise<boolean>;
  readonly note: NoteRule;
}): PermissionRules {
  const { clock, log, home, mayDrive, isVisible, note } = deps;
  const store = createRuleStore(deps);
  const adding = createKeyedLock();
  /** Counts added and removed rules. An answer is looked up again if this changed during the lookup. */
  let changes = 0;

  async function marked(request: RuledRequest): Promise<RuleRequest> {
    return { ...request, undriven: await store.isUndriven(request.sessionIds) };
  }

  async function toWire(rule: StoredRule): Promise<PermissionRule> {
    const { creator } = rule;
    return {
      ruleId: rule.ruleId,
      effect: rule.effect,
      agent: rule.agent,
      folder: rule.sessionId === null ? rule.dir : null,
      sessionId: rule.sessionId,
      dir: rule.dir,
      tool: rule.tool,
      pattern: rule.pattern,
      words: ruleWords(rule),
      undriven: rule.undriven,
      expiresAt: rule.expiresAt === null ? null : isoTime(rule.expiresAt),
      createdAt: isoTime(rule.createdAt),
      createdBy: creator,
      active: (rule.expiresAt === null || rule.expiresAt > clock.now()) && (await mayDrive(creator)),
      uses: rule.uses,
      lastUsedAt: rule.lastUsedAt === null ? null : isoTime(rule.lastUsedAt),
    };
  }

  function insert(rule: NewRule, creator: RuleCreator): Promise<StoredRule> {
    return adding.run(creator.accountId, async () => {
      if ((await store.count(creator.accountId)) >= maxRules) {
        throw new PosternError("invalid_request", `The limit of ${maxRules} standing rules is reached. Remove some.`);
      }
      const stored = await store.add(rule, creator);
      changes += 1;
      await noteFor("permission_rule_added", stored);
      return stored;
    });
  }

  async function removeStored(ruleId: string, accountId: string | null): Promise<boolean> {
    const removed = await store.remove(ruleId, accountId);
    changes += 1;
    return removed !== null;
  }

  /** The rules' answer, based on a single read of them. Rules whose creators lost access do not count. */
  async function lookUp(unmarked: RuledRequest): Promise<RuleVerdict | null> {
    let rules = await store.inForce();
    if (rules.length === 0 || inFolder(home, unmarked) || !(await isVisible(unmarked.counted))) return null;
    const request = await marked(unmarked);
    for (;;) {
      const verdict = evaluate(rules, request, clock.now());
      if (verdict === null) return null;
      const used = rules.filter(({ ruleId }) => verdict.ruleIds.includes(ruleId));
      const still = await Promise.all(used.map(({ creator }) => mayDrive(creator)));
      if (still.every(Boolean)) {
        const message =
          verdict.effect === "deny" ? `A standing rule denies this: ${used.map(ruleWords).join(" ")}` : null;
        return { ...verdict, message };
      }
      const gone = new Set(used.filter((_, index) => !still[index]).map(({ ruleId }) => ruleId));
      rules = rules.filter(({ ruleId }) => !gone.has(ruleId));
    }
  }

  function noteFor(
    action: "permission_rule_added" | "permission_rule_removed" | "permission_rule_used",
    rule: StoredRule,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const { accountId, kind, credential } = rule.creator;
    const details = { words: ruleWords(rule), createdWith: kind, credential, ...more };
    return note({ action, accountId, subject: rule.ruleId, details });
  }

  return {
    async verdictOn(request) {
      for (;;) {
        const before = changes;
        const verdict = await lookUp(request);
        if (changes === before) return verdict;
      }
    },

    async noteUse({ ruleIds }, { sessionIds, agent }) {
      try {
        const rules = (await store.list(null)).filter(({ ruleId }) => ruleIds.includes(ruleId));
        await store.noteUse(ruleIds);
        for (const rule of rules) await noteFor("permission_rule_used", rule, { sessionId: sessionIds[0], agent });
      } catch (error) {
        log.error({ ruleIds, reason: messageOf(error) }, "cannot count the use of a standing rule");
      }
    },

    async preview(unmarked, { effect, remember }) {
      const request = await marked(unmarked);
      const now = clock.now();
      const { rules, refusal } = rulesToRemember(request, { effect, remember, now });
      for (const rule of rules) checkRule(rule, [rule.pattern]);
      const numbered = rules.map((rule, index) => ({ ...rule, ruleId: String(index) }));
      return {
        rules: rules.map((rule) => ({
          tool: rule.tool,
          pattern: rule.pattern,
          words: ruleWords(rule),
          tooBroad: breadthOf(rule),
        })),
        undriven: request.undriven,
        covers: evaluate(numbered, request, now)?.effect === effect,
        refusal,
      };
    },

    async remember(unmarked, { effect, remember }, caller) {
      const request = await marked(unmarked);
      const now = clock.now();
      // The agent's folder can contain the one that the caller's token is limited to.
      if (!mayUse(caller, request.counted)) {
        const where = `Your token is limited to other folders than ${request.counted}, where the agent is.`;
        throw new PosternError("invalid_request", `${where} Answer without \`remember\`.`);
      }
      const { rules, refusal } = rulesToRemember(request, { effect, remember, now });
      if (refusal !== null) throw new PosternError("invalid_request", refusal);
      for (const rule of rules) checkRule(rule, remember.confirm ?? []);
      const numbered = rules.map((rule, index) => ({ ...rule, ruleId: String(index) }));
      if (evaluate(numbered, request, now)?.effect !== effect && !isExcluded(rules, request)) {
        throw new PosternError(
          "invalid_request",
          "These patterns do not match this request. Change them, or answer without `remember`.",
        );
      }
      const added: StoredRule[] = [];
      const undo = async (): Promise<void> => {
        for (const { ruleId, creator } of added) await removeStored(ruleId, creator.accountId);
      };
      try {
        for (const rule of rules) added.push(await insert(rule, creatorOf(caller)));
      } catch (error) {
        await undo();
        throw error;
      }
      return undo;
    },

    async add(rule, confirmed, caller) {
      checkRule(rule, confirmed);
      return toWire(await insert(rule, creatorOf(caller)));
    },

    async list(caller) {
      const rules = await store.list(caller.scopes.has("admin") ? null : caller.accountId);
      return Promise.all(rules.filter(({ dir }) => mayUse(caller, dir)).map(toWire));
    },

    async remove(ruleId, caller) {
      const own = caller.scopes.has("admin") ? null : caller.accountId;
      const rule = (await store.list(own)).find((one) => one.ruleId === ruleId);
      if (rule === undefined || !mayUse(caller, rule.dir) || !(await removeStored(ruleId, own))) {
        throw new PosternError(
          "rule_not_found",
          `No standing rule ${ruleId}. Run \`postern rules list\` to see your rules.`,
        );
      }
      await noteFor("permission_rule_removed", rule, { by: caller.accountId });
    },
  };

  /** Whether these rules would match, but exclude this session because a caller without `coding:drive` prompted it. */
  function isExcluded(rules: readonly NewRule[], request: RuleRequest): boolean {
    const numbered = rules.map((rule, index) => ({ ...rule, ruleId: String(index), undriven: true }));
    return request.undriven && evaluate(numbered, request, clock.now()) !== null;
  }
}

function mayUse({ folders }: Caller, dir: string): boolean {
  return folders === null || folders.some((folder) => isWithin(folder, dir));
}

/** Whether a request affects, or could affect, files of this folder: a command may change everything below the directory where it runs. */
function inFolder(folder: string, { dir, action }: RuledRequest): boolean {
  if (isWithin(folder, dir)) return true;
  if (action.tool !== "command") return action.paths.some((path) => isWithin(folder, path));
  return isWithin(dir, folder) || commandsNaming(action.line, folder);
}

/** A rule that a token or app created ends when that is revoked. A rule from a browser or the command line belongs to the account. */
function creatorOf({ accountId, kind = "open", tokenId = null, app = null }: Caller): RuleCreator {
  const credential = kind === "token" ? tokenId : kind === "app" ? (app?.appId ?? null) : null;
  return { accountId, kind, credential };
}
