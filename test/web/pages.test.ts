import { expect, test } from "vitest";
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

test.for(["desktop", "phone"] as const)(
  "on a %s every page is shown in both colours, and axe, console and network find nothing wrong",
  async (device) => {
    const { world, gateway } = used;
    const stranger = await browser.stranger({ device });
    await stranger.page.goto(gateway.app.baseUrl);
    await stranger.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    stranger.troubles(); // that nobody is signed in, the browser itself tells as an error
    await lookAt(stranger, `sign-in-${device}`);

    const { sessionId } = await gateway.api.ask({
      agent: "scripted",
      dir: world.repository,
      prompt: "say hello to the page\nrun echo something",
      permissionMode: "all",
      waitMs: 30_000,
    });
    const visit = await browser.visit(await signInUrl(gateway), { device });
    for (const { name, path, shows } of pages) {
      await visit.page.goto(new URL(path, gateway.app.baseUrl).href);
      await visit.page.getByRole("heading", { level: 1, name: shows }).first().waitFor();
      await visit.settled();
      await lookAt(visit, `${name}-${device}`);
    }
    await gateway.api.post("/api/coding/coding_close_session", { sessionId });
    expect(visit.troubles()).toEqual([]);
  },
);
