import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContext, CDPSession, Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { z } from "zod";
import { launchHeadlessShell } from "./chromium.ts";
import type { TestGateway } from "./gateway.ts";
import { watchTerminals } from "./terminal-probe.ts";

/** Kept for inspection; not part of the repository. */
const artifacts = resolve(import.meta.dirname, "../../test-artifacts");

const viewports = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const;

/** Violations of these count as failures. */
const seriousImpacts: ReadonlySet<string> = new Set(["serious", "critical"]);

/** One browser with its cookies and storage, signed in, and all that went wrong in it. */
export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Takes the page offline, or online again. Works even if this machine has no network. */
  setOnline(online: boolean): Promise<void>;
  /** Waits until all requests of the page have completed, except live streams, which never end. */
  settled(): Promise<void>;
  /** Saves a screenshot of the page in `test-artifacts/web`. */
  shoot(name: string): Promise<void>;
  /** Serious and critical violations that axe finds on the page; with `colours`, only those of its color rules. */
  violations(rules?: "all" | "colours"): Promise<readonly string[]>;
  /** Errors of console and page, and requests to other hosts, since the last call. */
  troubles(): readonly string[];
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly device?: keyof typeof viewports;
  readonly colorScheme?: "light" | "dark";
  /** False switches JavaScript off. */
  readonly javaScript?: boolean;
}

/** Real Chromium for all tests of a file. @param launch the shell by default, which shows no notifications */
export function useBrowser(
  args: readonly string[] = [],
  launch = launchHeadlessShell,
): {
  /** Opens a sign-in link in a separate browser, closed with the test. The page is then the list of sessions. */
  visit(signInUrl: string, options?: VisitOptions): Promise<Visit>;
  /** A browser that is signed in nowhere. */
  stranger(options?: VisitOptions): Promise<Visit>;
} {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launch(args);
  });
  afterAll(() => browser?.close());

  async function stranger(options: VisitOptions = {}): Promise<Visit> {
    if (browser === undefined) throw new Error("Only within a test.");
    const visit = await begin(browser, options);
    onTestFinished(async ({ task }) => {
      if (task.result?.state === "fail") await visit.shoot(`failed-${task.id}-${Date.now()}`);
      await visit.close();
    });
    return visit;
  }
  return {
    stranger,
    async visit(signInUrl, options) {
      const visit = await stranger(options);
      await visit.page.goto(signInUrl);
      await visit.page.waitForURL(new URL("/", signInUrl).href);
      return visit;
    },
  };
}

async function begin(
  browser: Browser,
  { device = "desktop", colorScheme = "light", javaScript = true }: VisitOptions,
): Promise<Visit> {
  const context = await browser.newContext({
    javaScriptEnabled: javaScript,
    viewport: viewports[device],
    colorScheme,
    reducedMotion: "reduce",
    ...(device === "phone" && { isMobile: true, hasTouch: true }),
  });
  const page = await context.newPage();
  await watchTerminals(page);
  const troubles: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") troubles.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => troubles.push(`page error: ${error.stack ?? error.message}`));
  const pending = new Set<Request>();
  const isStream = (request: Request): boolean => new URL(request.url()).pathname === "/api/coding/events";
  page.on("request", (request) => isStream(request) || pending.add(request));
  page.on("requestfinished", (request) => pending.delete(request));
  page.on("requestfailed", (request) => pending.delete(request));
  const foreign = (url: string): boolean => {
    const own = new URL(page.url());
    const { protocol, host } = new URL(url);
    return !["data:", "blob:", "about:"].includes(protocol) && own.host !== "" && host !== own.host;
  };
  page.on("request", (request) => {
    if (foreign(request.url()) && !request.isNavigationRequest()) troubles.push(`request to ${request.url()}`);
  });
  page.on("websocket", (socket) => {
    if (foreign(socket.url())) troubles.push(`WebSocket to ${socket.url()}`);
  });
  let network: Promise<CDPSession> | undefined;
  return {
    context,
    page,
    async setOnline(online) {
      // Not `context.setOffline`: without a network of the machine its page is offline before and after, and sees no change.
      network ??= context.newCDPSession(page);
      const session = await network;
      // With a latency: without any limit, Chromium uses the state of the machine's network again.
      const limits = { latency: 1, downloadThroughput: -1, uploadThroughput: -1 };
      await session.send("Network.emulateNetworkConditions", { offline: !online, ...limits });
    },
    async settled() {
      let quietLooks = 0;
      const look = (): number => (quietLooks = pending.size === 0 ? quietLooks + 1 : 0);
      await expect.poll(look, { timeout: 20_000, interval: 50 }).toBeGreaterThan(3);
    },
    async shoot(name) {
      mkdirSync(join(artifacts, "web"), { recursive: true });
      await page.screenshot({ path: join(artifacts, "web", `${name}.png`), animations: "disabled" });
    },
    violations: (rules = "all") => findViolations(page, rules),
    troubles: () => troubles.splice(0),
    close: () => context.close(),
  };
}

const axeResultSchema = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      impact: z.string().nullable().optional(),
      help: z.string(),
      nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
    }),
  ),
});

// The usual rules that check colors.
const ofColours = { type: "rule", values: ["color-contrast", "link-in-text-block"] } as const;

async function findViolations(page: Page, rules: "all" | "colours"): Promise<readonly string[]> {
  // It is half a megabyte, and stays as long as the page does.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source);
  const options = { resultTypes: ["violations"], ...(rules === "colours" && { runOnly: ofColours }) };
  const { violations } = axeResultSchema.parse(await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`));
  return violations
    .filter(({ impact }) => seriousImpacts.has(impact ?? ""))
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}\n${nodes.map(({ html, failureSummary = "" }) => `  ${html.slice(0, 200)}\n  ${failureSummary}`).join("\n")}`,
    );
}

/** Expects no errors in this browser since the last check, and no serious axe violations on the current page. */
export async function expectFlawless(visit: Visit, what: string, rules?: "all" | "colours"): Promise<void> {
  expect(await visit.violations(rules), `axe: ${what}`).toEqual([]);
  expect(visit.troubles(), `console and network: ${what}`).toEqual([]);
}

/** A new link that signs the owner in. */
export async function signInUrl({ app }: Pick<TestGateway, "app">): Promise<string> {
  const { accountId } = await app.accounts.owner();
  return (await app.accounts.signIn.createUrl(accountId, app.baseUrl)).url;
}

/** Takes screenshots of the page in light and dark, and expects no errors in either. */
export async function lookAt(visit: Visit, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await visit.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await visit.shoot(`${name}-${colorScheme}`);
    await expectFlawless(visit, `${name}, ${colorScheme}`, colorScheme === "light" ? "all" : "colours");
  }
}

/** To evaluate in the page: elements that extend beyond its right edge, and so need scrolling or are cut off. */
export const beyondTheEdge = `[...document.querySelectorAll("main, main *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 || (one.tagName === "MAIN" && one.scrollWidth > one.clientWidth))
  .map((one) => one.outerHTML.slice(0, 100))`;
