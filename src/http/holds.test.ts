import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import type { Principal } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { createHolds } from "./holds.ts";
import type { RouteModule } from "./route-server.ts";

const caller: Principal = {
  accountId: "owner",
  kind: "token",
  scopes: new Set(["coding:read", "coding:drive"]),
  folders: ["/srv"],
  tokenId: "t1",
  browserSessionId: null,
  app: null,
  resource: "all",
  expiresAt: null,
};

/** A hold with a caller and folders that a test can change. */
function setUp() {
  const clock = createFakeClock();
  const now: { principal: Principal; visible: Set<string>; failure: Error | null; checks: number } = {
    principal: caller,
    visible: new Set(["/srv/a", "/srv/b"]),
    failure: null,
    checks: 0,
  };
  const holds = createHolds({
    clock,
    async refresh() {
      now.checks += 1;
      if (now.failure !== null) throw now.failure;
      return now.principal;
    },
    isVisible: async (dir, { scope, within }) => scope === "coding" && within !== null && now.visible.has(dir),
  });
  const hold = holds.open(caller);
  hold.principal.allowed?.note({ dir: "/srv/a", scope: "coding" });
  return { clock, now, holds, hold };
}

const losses: Readonly<Record<string, (now: ReturnType<typeof setUp>["now"]) => void>> = {
  unauthenticated: (now) => void (now.failure = new PosternError("unauthenticated", "Revoked.")),
  insufficient_scope: (now) => void (now.principal = { ...caller, scopes: new Set(["coding:read"]) }),
  dir_not_allowed: (now) => void now.visible.delete("/srv/a"),
  "dir_not_allowed, by the token": (now) => void (now.principal = { ...caller, folders: ["/srv/b"] }),
};

for (const [what, lose] of Object.entries(losses)) {
  test(`an open connection ends within two seconds after the loss of: ${what}`, async () => {
    const { clock, now, hold } = setUp();
    await clock.advance(10_000);
    expect(hold.signal.aborted).toBe(false);
    lose(now);
    await clock.advance(2_000);
    expect(hold.signal.reason).toMatchObject({ code: what.split(",")[0] });
    expect(hold.isLost).toBe(true);
    expect(clock.nextAt).toBeNull();
  });

  test(`input sent after the loss is refused: ${what}`, async () => {
    const { clock, now, hold } = setUp();
    const taken: string[] = [];
    hold.whenHeld(() => taken.push("at once"));
    expect(taken).toEqual(["at once"]);
    await clock.advance(1_000);
    hold.whenHeld(() => taken.push("after a check"));
    hold.whenHeld(() => taken.push("in order"));
    expect(taken).toHaveLength(1);
    await expect.poll(() => taken).toEqual(["at once", "after a check", "in order"]);
    await clock.advance(500);
    lose(now);
    hold.whenHeld(() => taken.push("too late"));
    await expect.poll(() => hold.isLost).toBe(true);
    hold.whenHeld(() => taken.push("too late"));
    await expect(hold.check()).rejects.toThrow();
    expect(taken).toHaveLength(3);
  });

  test(`a change of rights in this gateway ends it immediately: ${what}`, async () => {
    const { now, holds, hold } = setUp();
    lose(now);
    await holds.recheck();
    expect(hold.isLost).toBe(true);
  });
}

test("a store that does not answer ends no connection, and input is still accepted", async () => {
  const { clock, now, hold } = setUp();
  now.failure = new Error("The database is locked.");
  await clock.advance(4_000);
  let taken = false;
  hold.whenHeld(() => void (taken = true));
  await expect.poll(() => taken).toBe(true);
  expect(hold.signal.aborted).toBe(false);
  now.failure = new PosternError("unauthenticated", "Revoked.");
  await clock.advance(2_000);
  expect(hold.isLost).toBe(true);
});

test("a check that started before a change of rights does not count for it", async () => {
  const clock = createFakeClock();
  const answers: PromiseWithResolvers<Principal>[] = [];
  const holds = createHolds({
    clock,
    refresh() {
      const answer = Promise.withResolvers<Principal>();
      answers.push(answer);
      return answer.promise;
    },
    isVisible: async () => true,
  });
  const hold = holds.open(caller);
  await clock.advance(2_000);
  let taken = false;
  hold.whenHeld(() => void (taken = true));
  const rechecked = holds.recheck();
  answers[0]?.resolve(caller);
  await expect.poll(() => answers.length).toBe(2);
  expect(taken).toBe(false);
  answers[1]?.reject(new PosternError("unauthenticated", "Revoked."));
  await rechecked;
  expect([taken, hold.isLost]).toEqual([false, true]);
});

test("ended connections are not checked", async () => {
  const { clock, now, holds, hold } = setUp();
  hold.end(new PosternError("client_gone", "The client went away."));
  expect(hold.signal.reason).toMatchObject({ code: "client_gone" });
  expect(hold.isLost).toBe(false);
  await holds.recheck();
  expect([now.checks, clock.nextAt]).toEqual([0, null]);
});

/** Routes without handling for lost rights: one waits for a test, one ignores every signal, one ends a token. */
const carelessRoutes =
  (answers: PromiseWithResolvers<string>[]): RouteModule =>
  ({ app }) => {
    app.get("/slow", { config: { access: "coding:read" } }, async () => {
      const answer = Promise.withResolvers<string>();
      answers.push(answer);
      return answer.promise;
    });
    app.post("/changes", { config: { access: "admin" } }, async () => ({}));
  };

async function startSlowCall() {
  const answers: PromiseWithResolvers<string>[] = [];
  onTestFinished(() => answers.forEach(({ resolve }) => resolve("")));
  const server = await startHttpServer(() => [carelessRoutes(answers)]);
  const { accountId } = await server.accounts.owner();
  const wanted = { name: "short", scopes: ["coding:read"], expiresAt: null, folders: null } as const;
  const { token, record } = await server.accounts.tokens.create(accountId, wanted);
  const outcome = fetch(`${server.url}/slow`, { headers: { authorization: `Bearer ${token}` } }).then(
    async (answer) => `${answer.status} ${await answer.text()}`,
    () => "cut off",
  );
  await expect.poll(() => answers.length).toBe(1);
  return { ...server, answers, outcome, revoke: () => server.accounts.tokens.revoke(accountId, record.tokenId) };
}

test("a call that is answered after its caller lost the right gets a refusal, not the answer", async () => {
  const { url, signedIn, answers, outcome, revoke } = await startSlowCall();
  await revoke();
  const changed = await fetch(`${url}/changes`, { method: "POST", headers: await signedIn("admin") });
  expect(changed.status).toBe(200);
  answers[0]?.resolve("what the session said");
  expect(await outcome).toMatch(/^401 (?!.*what the session said)/);
});

test("a call that is not answered is cut off within five seconds, whatever its route does", async () => {
  const { outcome, revoke } = await startSlowCall();
  const before = performance.now();
  await revoke();
  expect(await outcome).toBe("cut off");
  expect(performance.now() - before).toBeLessThan(5_000);
});
