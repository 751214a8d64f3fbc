import { afterAll, beforeAll, expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

/** Every page, and what is there when it has all that it shows. */
const pages = [
  { name: "sessions", path: "/", shows: "Sessions" },
  { name: "new-session", path: "/new", shows: "New session" },
  { name: "agents", path: "/agents", shows: "Agents" },
  { name: "folders", path: "/folders", shows: "Folders" },
  { name: "tokens", path: "/tokens", shows: "Tokens" },
  { name: "settings", path: "/settings", shows: "Settings" },
] as const;

/** Few in each test: on a busy machine one page takes many seconds. */
const parts = (["desktop", "phone"] as const).flatMap((device) =>
  [pages.slice(0, 3), pages.slice(3)].map((some) => [device, some.map(({ name }) => name).join(", "), some] as const),
);

let sessionId: string;
beforeAll(async () => {
  const { world, gateway } = used;
  const answer = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "say hello to the page\nrun echo something",
    permissionMode: "all",
    waitMs: 30_000,
  });
  sessionId = answer.sessionId;
});
afterAll(() => used.gateway.api.post("/api/coding/coding_close_session", { sessionId }));

test.for(["desktop", "phone"] as const)(
  "on a %s the sign-in page is shown in both colours, without faults",
  async (device) => {
    const stranger = await browser.stranger({ device });
    await stranger.page.goto(used.gateway.app.baseUrl);
    await stranger.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    stranger.troubles(); // that nobody is signed in, the browser itself tells as an error
    await lookAt(stranger, `sign-in-${device}`);
  },
);

test.for(parts)(
  "on a %s these pages are shown in both colours, and axe, console and network find nothing wrong: %s",
  async ([device, , some]) => {
    const visit = await browser.visit(await signInUrl(used.gateway), { device });
    for (const { name, path, shows } of some) {
      await visit.page.goto(new URL(path, used.gateway.app.baseUrl).href);
      await visit.page.getByRole("heading", { level: 1, name: shows }).first().waitFor();
      await visit.settled();
      await lookAt(visit, `${name}-${device}`);
    }
    expect(visit.troubles()).toEqual([]);
  },
);
