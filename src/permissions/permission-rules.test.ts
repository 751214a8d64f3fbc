import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { silentLog } from "../core/log.ts";
import type { Database } from "../storage/database.ts";
import type { Scope } from "../wire/access.ts";
import type { Caller } from "../wire/caller.ts";
import type { RuledRequest } from "../wire/permission-rules.ts";
import { createPermissionRules, type MayDrive, type NewRule, type RuleNote } from "./index.ts";

const dir = "/code/app";
const base: NewRule = {
  ...{ effect: "allow", agent: null, sessionId: null, dir, tool: "command" },
  ...{ pattern: "npm test", undriven: false, expiresAt: null },
};

function asks(line: string, where = dir, sessionIds = ["s1"]): RuledRequest {
  return { agent: "codex", sessionIds, dir: where, counted: where, action: { tool: "command", line } };
}

function callerOf(accountId: string, more: Partial<Caller> = {}): Caller {
  return { accountId, scopes: new Set<Scope>(["coding:drive"]), folders: null, kind: "browser", ...more };
}

async function openRules(openStore: OpenTestStore) {
  const store = await openStore();
  const clock = createFakeClock();
  for (const [account_id, is_owner] of [
    ["owner", 1],
    ["anna", 0],
  ] as const) {
    const account = { account_id, name: account_id, is_owner, created_at: clock.now() };
    await store.db.insertInto("accounts").values(account).execute();
  }
  const notes: RuleNote[] = [];
  const access: { mayDrive: MayDrive } = { mayDrive: async () => true };
  const open = ({ db }: Pick<Database, "db">) =>
    createPermissionRules({
      ...{ db, clock, log: silentLog, home: "/postern" },
      mayDrive: (creator) => access.mayDrive(creator),
      isVisible: async () => true,
      note: async (entry) => void notes.push(entry),
    });
  const rules = open(store);
  const verdict = async (request: RuledRequest) => (await rules.verdictOn(request))?.effect ?? null;
  const add = (rule: Partial<NewRule> = {}, caller = callerOf("owner")) => rules.add({ ...base, ...rule }, [], caller);
  return { store, clock, notes, access, open, rules, verdict, add };
}

/** The first test also starts the database server. */
const timeout = 240_000;

describeOnBothStores("stored rules", (openStore) => {
  test("deny before they allow, answer in their session under each of its IDs, and end when they expire", {
    timeout,
  }, async () => {
    const { store, clock, rules, verdict, add } = await openRules(openStore);
    const denying = await add({ effect: "deny", pattern: "npm test secrets" }, callerOf("anna"));
    await add({ expiresAt: clock.now() + 1_000 });
    expect(await verdict(asks("npm test plain"))).toBe("allow");
    expect(await verdict(asks("npm test plain && npm test secrets"))).toBe("deny");
    const { message } = (await rules.verdictOn(asks("npm test secrets"))) ?? {};
    expect(message).toContain("commands that start with `npm test secrets`");
    await rules.remove(denying.ruleId, callerOf("anna"));
    expect(await verdict(asks("npm test secrets"))).toBe("allow");

    await clock.advance(999);
    expect(await verdict(asks("npm test"))).toBe("allow");
    await clock.advance(1);
    expect(await verdict(asks("npm test"))).toBeNull();
    expect(await rules.list(callerOf("owner"))).toMatchObject([{ active: false, uses: 0 }]);

    await add({ sessionId: "s1" });
    expect(await verdict(asks("npm test", dir, ["real", "s1"]))).toBe("allow");
    expect(await verdict(asks("npm test", dir, ["s2"]))).toBeNull();
    await store.db.insertInto("undriven_sessions").values({ session_id: "s1" }).execute();
    expect(await verdict(asks("npm test", dir, ["real", "s1"]))).toBeNull();
    await add({ sessionId: "s1", undriven: true });
    expect(await verdict(asks("npm test", dir, ["real", "s1"]))).toBe("allow");
  });

  test("belong to one account, and are hidden from callers that are limited to other folders", {
    timeout,
  }, async () => {
    const { store, rules, verdict, add, notes } = await openRules(openStore);
    const mine = await add();
    const below = await add({ dir: `${dir}/web`, pattern: "ls" });
    const theirs = await add({ pattern: "pwd x" }, callerOf("anna"));
    const idsFor = async (caller: Caller) => (await rules.list(caller)).map(({ ruleId }) => ruleId).toSorted();
    expect(await idsFor(callerOf("owner"))).toEqual([mine.ruleId, below.ruleId].toSorted());
    expect(await errorCode(rules.remove(mine.ruleId, callerOf("anna")))).toBe("rule_not_found");
    const limited = callerOf("owner", { folders: [`${dir}/web`] });
    const remembered = { effect: "allow", remember: { for: "folder" } } as const;
    expect(await errorCode(rules.remember(asks("npm test"), remembered, limited))).toBe("invalid_request");
    const undo = await rules.remember(asks("npm test", `${dir}/web`), remembered, limited);
    expect(await idsFor(limited)).toHaveLength(2);
    await undo();
    expect(await idsFor(limited)).toEqual([below.ruleId]);
    expect(await errorCode(rules.remove(mine.ruleId, limited))).toBe("rule_not_found");
    expect(await verdict(asks("npm test"))).toBe("allow");
    await rules.remove(below.ruleId, limited);
    const admin = callerOf("owner", { scopes: new Set<Scope>(["coding:drive", "admin"]) });
    expect(await idsFor(admin)).toEqual([mine.ruleId, theirs.ruleId].toSorted());
    await rules.remove(theirs.ruleId, admin);
    expect(notes.at(-1)).toMatchObject({ accountId: "anna", details: { by: "owner" } });
    await store.db.deleteFrom("accounts").where("account_id", "=", "owner").execute();
    expect(await verdict(asks("npm test"))).toBeNull();
  });

  test("that are revoked while a request is looked up answer nothing, and a denial that is added then counts", {
    timeout,
  }, async () => {
    const { rules, verdict, add, access } = await openRules(openStore);
    /** Looks up a request, and makes a change while its rules are checked. */
    async function changedMeanwhile(change: () => Promise<unknown>): Promise<string | null> {
      const checking = Promise.withResolvers<void>();
      const changed = Promise.withResolvers<void>();
      access.mayDrive = async () => {
        checking.resolve();
        await changed.promise;
        return true;
      };
      const looked = verdict(asks("npm test"));
      await checking.promise;
      access.mayDrive = async () => true;
      await change();
      changed.resolve();
      return looked;
    }
    const { ruleId } = await add();
    expect(await changedMeanwhile(() => rules.remove(ruleId, callerOf("owner")))).toBeNull();
    await add({}, callerOf("owner", { kind: "token", tokenId: "t1" }));
    expect(await changedMeanwhile(() => add({ effect: "deny" }, callerOf("anna")))).toBe("deny");

    // A denial also ends when its creator loses access.
    access.mayDrive = async ({ accountId }) => accountId !== "anna";
    expect(await verdict(asks("npm test"))).toBe("allow");
    access.mayDrive = async ({ accountId, credential }) => accountId !== "anna" && credential !== "t1";
    expect(await verdict(asks("npm test"))).toBeNull();
    expect(await rules.list(callerOf("owner"))).toMatchObject([{ active: false }]);
  });

  test("count each use once, are removed once, and stay within the limit, with concurrent requests", {
    timeout,
  }, async () => {
    const { store, clock, rules, add, open, notes } = await openRules(openStore);
    const { ruleId } = await add();
    const other = open(await store.openAgain());
    const used = { effect: "allow", ruleIds: [ruleId], message: null } as const;
    const uses = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? rules : other).noteUse(used, asks("npm test")));
    await Promise.all(uses);
    expect(await rules.list(callerOf("owner"))).toMatchObject([{ uses: 20 }]);
    const removals = await Promise.all(
      [rules, other, rules, other].map((one) => errorCode(one.remove(ruleId, callerOf("owner")))),
    );
    expect(removals.filter((code) => code === null)).toHaveLength(1);
    expect(removals.filter((code) => code === "rule_not_found")).toHaveLength(3);
    const actions = notes.map(({ action }) => action.replace("permission_rule_", ""));
    const times = Array.from({ length: 20 }, () => "used");
    expect(actions).toEqual(["added", ...times, "removed"]);

    const of = { account_id: "owner", creator_kind: "browser" } as const;
    const pattern = { effect: "allow", dir, tool: "command", pattern: "ls" } as const;
    const row = { ...of, ...pattern, undriven: 0, created_at: clock.now(), uses: 0 };
    const held = Array.from({ length: 495 }, (_, at) => ({ ...row, rule_id: `r${at}` }));
    await store.db.insertInto("permission_rules").values(held).execute();
    const added = await Promise.all(Array.from({ length: 10 }, () => errorCode(add())));
    expect(added.filter((code) => code === null)).toHaveLength(5);
    expect(await rules.list(callerOf("owner"))).toHaveLength(500);
  });
});
