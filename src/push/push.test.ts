import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { asked, permissionOf, pushScene, worksAgain } from "../../test/support/push-scene.ts";
import { vapidClaims } from "../../test/support/push-service.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { defaultPreferences } from "./preferences.ts";

const patience = { timeout: 20_000, interval: 20 };
/** The time in which simultaneous events arrive. */
const settleMs = 1_000;

describeOnBothStores("notifications", (openStore) => {
  /** Waits until the events are in the queue, then lets the time pass. */
  async function pass(
    scene: Awaited<ReturnType<typeof pushScene>>,
    rows: number | readonly (string | null)[],
    ms = settleMs,
  ): Promise<void> {
    const queued = async () => (await scene.queued()).map((row) => row.permission_id);
    if (typeof rows === "number") await expect.poll(async () => (await queued()).length, patience).toBe(rows);
    else await expect.poll(queued, patience).toEqual(rows);
    await expect.poll(() => scene.clock.nextAt !== null, patience).toBe(true);
    await scene.clock.advance(ms);
  }

  test("are encrypted for the browser and signed by the gateway, and contain ids and the kind only", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    scene.push.start();
    scene.asks("s1", permissionOf("p1"));
    await scene.publish(asked("p1"));
    await pass(scene, 1);
    await expect
      .poll(() => browser.messages(), patience)
      .toEqual([{ type: "notice", kind: "needs_permission", sessionId: "s1", permissionId: "p1" }]);
    const [request] = browser.received();
    if (request === undefined) throw new Error("nothing was received");
    expect(request.headers).toMatchObject({ "content-encoding": "aes128gcm", urgency: "high", ttl: "14400" });
    expect(request.headers["topic"]).toMatch(/^[\w-]{32}$/);
    const publicKey = await scene.push.publicKey();
    expect(await vapidClaims(request, publicKey)).toMatchObject({
      aud: scene.service.origin,
      sub: "https://postern.example",
      key: publicKey,
    });
    expect(request.body.includes("s1")).toBe(false);
  });

  test("of the same session replace one another, in the queue, at the push service and in the browser", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    scene.push.start();
    scene.asks("s1", permissionOf("p2"));
    await scene.publish(asked("p1"), asked("p2"), asked("p3", "s2"));
    await pass(scene, ["p2", "p3"]);
    await expect.poll(() => browser.messages(), patience).toMatchObject([{ permissionId: "p2" }]);
    await expect.poll(async () => (await scene.queued()).map((row) => row.state), patience).toEqual(["shown"]);
    scene.is("s1");
    await scene.publish(turnEnded());
    await pass(scene, [null]);
    await expect.poll(() => browser.messages().at(-1), patience).toMatchObject({ kind: "finished", sessionId: "s1" });
    expect(new Set(browser.received().map(({ headers }) => headers["topic"])).size).toBe(1);
    await expect.poll(() => scene.queued(), patience).toEqual([]);
  });

  test("are withdrawn when the request is answered, and replaced by what is still asked", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    scene.push.start();
    scene.asks("s1", permissionOf("p1"), permissionOf("p2"));
    await scene.publish(asked("p1"), asked("p2"));
    await pass(scene, ["p2"]);
    await expect.poll(() => browser.messages(), patience).toMatchObject([{ permissionId: "p2" }]);
    await expect.poll(async () => (await scene.queued())[0]?.state, patience).toBe("shown");
    scene.asks("s1", permissionOf("p1"));
    await scene.push.sessionChanged("s1");
    await expect.poll(() => browser.messages().at(-1), patience).toMatchObject({ permissionId: "p1", silent: true });
    scene.is("s1", { activity: "working" });
    await scene.publish(worksAgain());
    await expect
      .poll(() => browser.messages().at(-1), patience)
      .toEqual({ type: "withdraw", sessionId: "s1", mustShow: false });
    await expect.poll(() => scene.queued(), patience).toEqual([]);
  });

  test("are not sent for what was answered before they were due, nor for what the account does not want", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    await scene.push.setPreferences(scene.accountId, { ...defaultPreferences, kinds: ["needs_permission", "failed"] });
    scene.push.start();
    scene.is("s1", { activity: "working" });
    scene.is("s2");
    scene.is("s3", { turnFailure: "overloaded" });
    await scene.publish(asked("p1"), turnEnded({ sessionId: "s2" }), turnEnded({ sessionId: "s3" }));
    await pass(scene, 3);
    await expect.poll(() => scene.queued(), patience).toEqual([]);
    expect(browser.messages()).toEqual([{ type: "notice", kind: "failed", sessionId: "s3", permissionId: null }]);
  });

  test("end with the sign-in of a browser, and only of that one", async () => {
    const scene = await pushScene(await openStore());
    const [one, other] = [await scene.browser(), await scene.browser()];
    const signedIn = await scene.accounts.signIn.redeem(
      (await scene.accounts.signIn.createLink(scene.accountId)).link,
      {
        userAgent: "",
      },
    );
    const { browserSessionId } = signedIn;
    const third = await scene.browser({ kind: "browser", browserSessionId });
    const owner = { accountId: scene.accountId, tokenId: null };
    expect(await scene.push.list(owner)).toHaveLength(3);
    scene.signedOut.add(browserSessionId);
    scene.push.start();
    scene.is("s1");
    await scene.publish(turnEnded());
    await pass(scene, 3);
    await expect.poll(() => scene.queued(), patience).toEqual([]);
    expect([one, other, third].map((browser) => browser.messages().length)).toEqual([1, 1, 0]);
    expect(await scene.push.list(owner)).toHaveLength(2);
    // Signing out removes it at once.
    const again = await scene.accounts.signIn.redeem((await scene.accounts.signIn.createLink(scene.accountId)).link, {
      userAgent: "",
    });
    await scene.browser({ kind: "browser", browserSessionId: again.browserSessionId });
    expect(await scene.push.list(owner)).toHaveLength(3);
    await scene.accounts.browsers.revoke(scene.accountId, again.browserSessionId);
    expect(await scene.push.list(owner)).toHaveLength(2);
  });

  test("are retried when the push service asks, survive a restart, and end when it no longer knows the browser", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    const { service } = scene;
    service.answer = () => ({ status: 429, headers: { "retry-after": "600" } });
    scene.push.start();
    scene.is("s1");
    await scene.publish(turnEnded());
    await pass(scene, 1);
    await expect.poll(async () => (await scene.queued())[0]?.attempts, patience).toBe(1);
    expect((await scene.queued())[0]?.due_at).toBeGreaterThanOrEqual(scene.clock.now() + 590_000);
    const [listed] = await scene.push.list({ accountId: scene.accountId, tokenId: null });
    expect(listed).toMatchObject({ lastUsedAt: null, lastError: "The push service answered 429." });
    await scene.push.close();

    service.answer = () => ({ status: 201 });
    const next = scene.open();
    next.start();
    await pass(scene, 1, 600_000);
    await expect.poll(() => browser.messages().length, patience).toBe(2);
    await expect.poll(() => scene.queued(), patience).toEqual([]);

    service.answer = () => ({ status: 410 });
    await scene.publish(turnEnded());
    await pass(scene, 1);
    await expect.poll(() => next.list({ accountId: scene.accountId, tokenId: null }), patience).toEqual([]);
  });

  test("are held back in quiet hours, and one summary follows with what still matters", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    // The test's clock starts at 2025-01-01T00:00Z.
    const quietHours = { from: "22:00", to: "07:00", timeZone: "UTC" };
    await scene.push.setPreferences(scene.accountId, { ...defaultPreferences, quietHours });
    scene.push.start();
    scene.is("s1");
    scene.asks("s2", permissionOf("p2"));
    scene.is("s3", { activity: "working" });
    scene.is("s4", { turnFailure: "x" });
    const ended = ["s1", "s3", "s4"].map((sessionId) => turnEnded({ sessionId }));
    await scene.publish(...ended, asked("p2", "s2"));
    await pass(scene, 4, 7 * 3_600_000 - 1);
    expect(browser.messages()).toEqual([]);
    await scene.clock.advance(1);
    await expect
      .poll(() => browser.messages(), patience)
      .toEqual([{ type: "summary", counts: { finished: 1, needs_permission: 1, failed: 1 } }]);
    await expect.poll(() => scene.queued(), patience).toEqual([]);
  });

  test("wait while a page is visible on a desktop browser, but not for long", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    scene.push.notePresence(scene.accountId);
    scene.push.start();
    scene.is("s1");
    await scene.publish(turnEnded());
    await pass(scene, 1, 29_999);
    expect(browser.messages()).toEqual([]);
    await scene.clock.advance(1);
    await expect.poll(() => browser.messages().length, patience).toBe(1);
    await scene.clock.advance(60_001);
    await scene.publish(turnEnded());
    await pass(scene, 1, settleMs);
    await expect.poll(() => browser.messages().length, patience).toBe(2);
  });

  test("show a plain request with actions, each of which works once, for one choice", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    await scene.push.setPreferences(scene.accountId, { ...defaultPreferences, showTitles: true, showRequests: true });
    scene.push.start();
    scene.asks("s1", permissionOf("p1"));
    await scene.publish(asked("p1"));
    await pass(scene, 1);
    await expect.poll(() => browser.messages().length, patience).toBe(1);
    const [message] = browser.messages();
    expect(message).toMatchObject({
      agent: "claude-code",
      title: "Fix it",
      request: { tool: "Bash", text: "echo p1" },
    });
    const { allow = "", deny = "" } = (message?.type === "notice" ? message.actions : undefined) ?? {};
    expect(allow).toMatch(/^[\w-]{43}$/);
    const stored = await scene.db.selectFrom("push_actions").selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(allow);
    const results = await Promise.allSettled([allow, deny, allow, deny].map((token) => scene.push.act(token)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(scene.answered).toHaveLength(1);
    expect(scene.answered[0]).toMatchObject({ sessionId: "s1", permissionId: "p1" });
    expect(await errorCode(scene.push.act("x"))).toBe("push_action_gone");
  });

  test("offer no actions to an account that cannot answer, and an action checks that again", async () => {
    const scene = await pushScene(await openStore());
    const browser = await scene.browser();
    await scene.push.setPreferences(scene.accountId, { ...defaultPreferences, showRequests: true });
    scene.push.start();
    const token = async (permissionId: string): Promise<string | undefined> => {
      const before = browser.messages().length;
      scene.asks("s1", permissionOf(permissionId));
      await scene.publish(asked(permissionId));
      await expect
        .poll(async () => (await scene.queued()).map((row) => [row.permission_id, row.state]), patience)
        .toEqual([[permissionId, "waiting"]]);
      await expect.poll(() => scene.clock.nextAt !== null, patience).toBe(true);
      await scene.clock.advance(settleMs);
      await expect.poll(() => browser.messages().length, patience).toBeGreaterThan(before);
      const message = browser.messages().at(-1);
      await expect.poll(async () => (await scene.queued())[0]?.state, patience).toBe("shown");
      return message?.type === "notice" ? message.actions?.allow : undefined;
    };
    const expired = await token("p1");
    await scene.clock.advance(31 * 60_000);
    expect(await errorCode(scene.push.act(expired ?? ""))).toBe("push_action_gone");
    const held = await token("p2");
    scene.scopes.delete("coding:drive");
    expect(await errorCode(scene.push.act(held ?? ""))).toBe("insufficient_scope");
    expect(await token("p3")).toBeUndefined();
    expect(scene.answered).toEqual([]);
  });

  test("belong to one account, which has a limited number of browsers", async () => {
    const scene = await pushScene(await openStore());
    const mine = await scene.browser();
    const { accountId: other } = await scene.accounts.directory.add({ name: "anna", scopes: ["coding:read"] });
    const theirs = { accountId: other, tokenId: null };
    expect(await scene.push.list(theirs)).toEqual([]);
    expect(await errorCode(scene.push.remove(theirs, mine.subscriptionId))).toBe("push_subscription_not_found");
    expect(await errorCode(scene.push.test(theirs, mine.subscriptionId))).toBe("push_subscription_not_found");
    const subscriber = { accountId: other, kind: "open", browserSessionId: null, tokenId: null } as const;
    const { keys } = scene.service.subscribe();
    const stolen = scene.push.subscribe(subscriber, { endpoint: mine.endpoint, keys, name: "x" });
    expect(await errorCode(stolen)).toBe("invalid_request");
    await scene.push.subscribe(subscriber, { endpoint: mine.endpoint, keys: mine.keys, name: "same browser" });
    expect(await scene.push.list({ accountId: scene.accountId, tokenId: null })).toEqual([]);
    const all = await Promise.allSettled(Array.from({ length: 60 }, () => scene.browser()));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(50);
  });

  test("have one key pair in a store, also when two processes create it", async () => {
    const scene = await pushScene(await openStore());
    const keys = await Promise.all([scene.push, scene.open(), scene.open()].map((push) => push.publicKey()));
    expect(new Set(keys).size).toBe(1);
    expect(Buffer.from(keys[0] ?? "", "base64url")).toHaveLength(65);
  });
});
