import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useBrowser } from "../support/browser.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { expectOnTerminal, expectSameScreens, openSession, patience } from "../support/session-page.ts";
import { shownTerminal } from "../support/terminal-probe.ts";

/** A program that leaves its lines above the screen, as the agents do not: those paint all of it again and again. */
const counter = {
  name: "counter",
  binary: "/bin/sh",
  startArgs: [
    "-c",
    'echo ready; while read -r of; do i=0; while [ "$i" -lt "$of" ]; do i=$((i + 1)); echo "Line $i of $of"; sleep 0.01; done; done',
  ],
  readyPattern: "ready",
};

const browser = useBrowser();
let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents: [counter] } });
  token = await prepareStore(world, ["counter"]);
});
afterAll(() => world.close());

/** The numbered lines that stand in the terminal, in their order. */
async function linesIn(page: Page, of: number): Promise<readonly number[]> {
  const { lines = [] } = (await shownTerminal(page)) ?? {};
  return lines.flatMap((line) => Number(new RegExp(`^Line (\\d+) of ${of}$`).exec(line)?.[1] ?? Number.NaN) || []);
}

const all = (of: number): readonly number[] => Array.from({ length: of }, (_, index) => index + 1);

test("no line is lost and none comes twice: not by a reload in mid-output, and not when the gateway is killed and another begins", async () => {
  const port = await freePort();
  const first = await serveWorld(world, token, { port });
  const { body } = await first.api.post<{ sessionId: string; pid: number }>("/api/coding/spawn", {
    agent: "counter",
    dir: world.repository,
  });
  const link = async (): Promise<string> => {
    const made = await first.api.post<{ url: string }>("/api/sign-in-links", {});
    return made.body.url;
  };
  const one = await browser.visit(await link());
  const other = await browser.visit(await link());
  for (const { page } of [one, other]) {
    await openSession(page, body.sessionId);
    await expectOnTerminal(page, "ready");
  }

  await one.page.locator(".xterm-helper-textarea").focus();
  await one.page.keyboard.type("200");
  await one.page.keyboard.press("Enter");
  await expectOnTerminal(one.page, "Line 30 of 200");
  await one.page.reload();
  await expectOnTerminal(one.page, "Line 200 of 200");
  await expect.poll(() => linesIn(one.page, 200)).toEqual(all(200));
  await expectSameScreens(one.page, other.page);

  await one.page.locator(".xterm-helper-textarea").focus();
  await one.page.keyboard.type("500");
  await one.page.keyboard.press("Enter");
  await expectOnTerminal(one.page, "Line 30 of 500");
  await first.server.end("SIGKILL");
  const note = one.page.getByText("The gateway cannot be reached.");
  await note.waitFor({ timeout: patience.timeout });
  await one.shoot("reconnecting-desktop-light");
  const second = await serveWorld(world, token, { port });
  await expectOnTerminal(one.page, "Line 500 of 500");
  for (const { page } of [one, other]) {
    await expect.poll(() => linesIn(page, 500), patience).toEqual(all(500));
    await expect.poll(() => linesIn(page, 200)).toEqual(all(200));
  }
  await expectSameScreens(one.page, other.page);
  expect(await note.count()).toBe(0);
  expect((await second.api.read(body.sessionId)).pid).toBe(body.pid);
  const fetchesFailed =
    /ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/;
  const others = (troubles: readonly string[]): readonly string[] => troubles.filter((one) => !fetchesFailed.test(one));
  expect([...others(one.troubles()), ...others(other.troubles())]).toEqual([]);
  await second.api.post("/api/coding/coding_close_all", {});
});
