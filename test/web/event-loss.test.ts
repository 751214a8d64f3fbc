import { expect, test } from "vitest";
import { signInUrl, useBrowser } from "../support/browser.ts";
import { readEvents } from "../support/event-reader.ts";
import { loggedIds, recordPageEvents } from "../support/page-events.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

test("a page whose network is away again and again receives each event once, in its order", async () => {
  const { gateway, world } = used;
  const { accountId } = await gateway.app.accounts.owner();
  const wanted = { name: "reader", scopes: ["coding:read"], folders: null, expiresAt: null } as const;
  const { token } = await gateway.app.accounts.tokens.create(accountId, wanted);
  const all = await readEvents(gateway.url, { token });
  const visit = await browser.visit(await signInUrl(gateway));
  const received = await recordPageEvents(visit.page);
  await visit.page.reload();
  await visit.page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  const prompt = { agent: "scripted", dir: world.repository, permissionMode: "all", waitMs: 60_000 } as const;
  const { sessionId } = await gateway.api.ask({ ...prompt, prompt: "say the first" });
  // Compared at each look: another event may come after the first one.
  const behind = (): Promise<string | null> =>
    received.drain().then(() => {
      const [here, there] = [received.ids.at(-1), all.events.at(-1)?.id];
      return here === there ? null : `the page has ${here}, the other reader ${there}`;
    });
  await expect.poll(behind, patience).toBeNull();
  const anchor = received.ids.at(-1) ?? "";

  for (let nth = 0; nth < 3; nth += 1) {
    await visit.setOnline(false);
    await visit.page.getByText("The gateway cannot be reached.").waitFor({ timeout: patience.timeout });
    await gateway.api.ask({ ...prompt, sessionId, prompt: `say ${nth}, which the page does not see` });
    // Some events come while the page reconnects.
    const [answer] = await Promise.all([
      gateway.api.ask({ ...prompt, sessionId, prompt: `run echo ${nth}\nsay and more` }),
      visit.setOnline(true),
    ]);
    expect(answer.sessionId).toBe(sessionId);
    await expect.poll(behind, patience).toBeNull();
  }
  const last = all.events.at(-1)?.id ?? "";
  const logged = await loggedIds(gateway.url, { token, anchor, last });
  expect(logged.length).toBeGreaterThan(12);
  // The newest may have been written after the last look.
  const counted = (): Promise<readonly string[]> =>
    received.drain().then(() => received.ids.slice(received.ids.indexOf(anchor) + 1).slice(0, logged.length));
  await expect.poll(counted, patience).toEqual(logged);
  expect(received.resets).toBe(0);
  await gateway.api.post("/api/coding/coding_close_all", {});
});
