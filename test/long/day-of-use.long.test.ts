import type { CDPSession, Page } from "playwright-core";
import { expect, test } from "vitest";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { signInUrl, useBrowser } from "../support/browser.ts";
import { readEvents } from "../support/event-reader.ts";
import { loggedIds, recordPageEvents, usedMemory } from "../support/page-events.ts";
import { useGateway } from "../support/use-gateway.ts";

// A working day of eight hours at 20 times its speed: a list and a session page are open in one browser while agents work. Neither may grow
// by more than 30 MiB, and no event may be lost or come twice, also when the network is away for a while.

/** `POSTERN_DAY_MINUTES` makes it shorter; with 24 it is eight hours at 20 times their speed. */
const dayMs = Number(process.env["POSTERN_DAY_MINUTES"] ?? 24) * 60_000;
/** Of the day, two minutes: what one of the user's sessions takes from prompt to prompt. */
const promptEveryMs = 6_000;
const seats = 4;
/** Then the user closes the session and begins another. */
const turnsOfSession = 40;
/** About an hour of the day: the user goes to the list and back, and the network is away for some seconds. */
const roundMs = Math.min(180_000, dayMs / 4);
const awayMs = 2_000;
const mostGrowthMiB = 30;
const patience = { timeout: 120_000, interval: 250 };

const used = useGateway({ agents: "scripted" });
const browser = useBrowser(["--js-flags=--expose-gc"]);

/** One of the user's running sessions. */
interface Seat {
  sessionId: string | null;
  turns: number;
  /** Whether its agent asks for permission. */
  readonly asks: boolean;
}

const prompts = [
  "say one line of an answer",
  "run echo something to see",
  "lines 40",
  "write notes.txt with a few words",
  "say another\nrun ls\nsay and done",
] as const;

async function work(seat: Seat, nth: number): Promise<void> {
  const { gateway, world } = used;
  if (seat.sessionId !== null && seat.turns >= turnsOfSession) {
    await gateway.api.post("/api/coding/coding_close_session", { sessionId: seat.sessionId });
    seat.sessionId = null;
    seat.turns = 0;
  }
  const prompt = prompts[nth % prompts.length] ?? "";
  const answer = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    ...(seat.sessionId === null ? {} : { sessionId: seat.sessionId }),
    permissionMode: seat.asks ? "ask" : "all",
    prompt,
    waitMs: 60_000,
  });
  seat.sessionId = answer.sessionId;
  seat.turns += 1;
  for (let now: SessionSummary = answer; now.permissions.length > 0 || now.activity === "working"; ) {
    const { sessionId, permissions, activity } = now;
    for (const { permissionId } of permissions) {
      await gateway.api.post("/api/coding/coding_answer_permission", { sessionId, permissionId, decision: "allow" });
    }
    now = await gateway.api.read(sessionId, { last: 1, waitMs: 20_000, activity });
  }
}

/** Takes both pages offline and online again. */
async function loseNetwork(devtools: readonly CDPSession[], offlineMs: number): Promise<void> {
  const set = (offline: boolean) =>
    Promise.all(
      devtools.map((session) =>
        session.send("Network.emulateNetworkConditions", {
          offline,
          latency: 1,
          downloadThroughput: -1,
          uploadThroughput: -1,
        }),
      ),
    );
  await set(true);
  await new Promise((over) => setTimeout(over, offlineMs));
  await set(false);
}

async function openSessionFromList(page: Page, sessionId: string): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor(patience);
  await page.locator(`main a[href="/sessions/${sessionId}"]`).first().click({ timeout: patience.timeout });
  await page.getByRole("log").waitFor(patience);
}

test("a day's events grow no page by more than 30 MiB, and each reaches the pages once", {
  timeout: dayMs + 10 * 60_000,
}, async () => {
  const { gateway } = used;
  const visit = await browser.visit(await signInUrl(gateway));
  const list = visit.page;
  const session = await visit.context.newPage();
  const received = await recordPageEvents(list);
  const receivedThere = await recordPageEvents(session);
  await list.reload();
  await list.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  const all: Seat[] = Array.from({ length: seats }, (_, at) => ({ sessionId: null, turns: 0, asks: at === 1 }));
  const [first] = all;
  if (first === undefined) throw new Error("There is no seat.");
  for (const [nth, seat] of all.entries()) await work(seat, nth);
  await session.goto(gateway.app.baseUrl);
  await openSessionFromList(session, first.sessionId ?? "");
  // What arrives from here on is counted.
  await work(first, 0);
  const turnsBefore = (): Promise<number> => received.drain().then(() => received.ids.length);
  await expect.poll(turnsBefore, patience).toBeGreaterThan(0);
  const anchor = received.ids.at(-1) ?? "";

  const devtools = await Promise.all([list, session].map((page) => visit.context.newCDPSession(page)));
  const measure = () => Promise.all(devtools.map((each) => usedMemory(each)));
  for (const seat of all) for (let nth = 0; nth < 3; nth += 1) await work(seat, nth);
  const before = await measure();
  const series = [before];
  const endsAt = performance.now() + dayMs;
  let turns = 0;
  const ending = { done: false };
  const workers = all.map(async (seat, at) => {
    for (let nth = at; performance.now() < endsAt && !ending.done; nth += 1) {
      const dueAt = performance.now() + promptEveryMs;
      await work(seat, nth);
      turns += 1;
      await new Promise((next) => setTimeout(next, Math.max(0, dueAt - performance.now())));
    }
  });
  const user = (async () => {
    while (performance.now() + roundMs <= endsAt) {
      await new Promise((next) => setTimeout(next, roundMs - awayMs));
      await loseNetwork(devtools, awayMs);
      await openSessionFromList(session, first.sessionId ?? "");
      await Promise.all([received.drain(), receivedThere.drain()]);
      series.push(await measure());
    }
  })();
  try {
    await Promise.all([...workers, user]);
  } finally {
    ending.done = true;
    await Promise.allSettled(workers);
  }

  const token = await readToken();
  const last = await lastLogged(token);
  const logged = await loggedIds(gateway.url, { token, anchor, last });
  for (const page of [received, receivedThere]) {
    const arrived = async (): Promise<string | undefined> => page.drain().then(() => page.ids.at(-1));
    await expect.poll(arrived, patience).toBe(last);
    expect(page.ids.slice(page.ids.indexOf(anchor) + 1), "events in the page, and in the log").toEqual(logged);
    expect(page.resets).toBe(0);
  }
  const after = await measure();
  series.push(after);
  const grown = after.map(({ heapMiB }, at) => heapMiB - (before[at]?.heapMiB ?? 0));
  console.log(`${turns} turns, ${logged.length} events. List and session page over the day:`);
  for (const each of series) console.log(JSON.stringify(each));
  expect(Math.max(...grown)).toBeLessThan(mostGrowthMiB);
  expect(turns).toBeGreaterThan((dayMs / promptEveryMs) * seats * 0.5);
  await gateway.api.post("/api/coding/coding_close_all", {});
});

async function readToken(): Promise<string> {
  const { app } = used.gateway;
  const { accountId } = await app.accounts.owner();
  const wanted = { name: "reader", scopes: ["coding:read"], folders: null, expiresAt: null } as const;
  return (await app.accounts.tokens.create(accountId, wanted)).token;
}

/** The newest event of the gateway's log. */
async function lastLogged(token: string): Promise<string> {
  const reader = await readEvents(used.gateway.url, { token });
  await expect.poll(() => reader.lastId, patience).not.toBeNull();
  reader.close();
  return reader.lastId ?? "";
}
