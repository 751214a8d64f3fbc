import { onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { PosternError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import type { SpawnSpec, TerminalHostClient } from "../../src/terminal-host/terminal-info.ts";
import { createTerminalViews, type FoundTerminal, type TerminalViewsDeps } from "../../src/terminals/terminal-views.ts";
import type { ViewRequest } from "../../src/terminals/viewers.ts";
import type { Scope } from "../../src/wire/access.ts";
import { createMemoryLink, type MemoryLink } from "./viewer-link.ts";

export const driver = { accountId: "owner", scopes: new Set<Scope>(["coding:read", "coding:drive"]), folders: null };
export const reader = { ...driver, scopes: new Set<Scope>(["coding:read"]) };

interface ViewOptions extends Partial<ViewRequest> {
  readonly caller?: typeof driver;
  readonly link?: MemoryLink;
}

/** Views of a host's terminals by their ids. */
export function viewsOf<Host extends TerminalHostClient>(client: Host, deps: Partial<TerminalViewsDeps> = {}) {
  const watched: string[] = [];
  const watch = ({ mode, permissionsInTerminal }: Parameters<FoundTerminal["watch"]>[0]): (() => void) => {
    const word = `${mode}${permissionsInTerminal ? " with permissions" : ""}`;
    watched.push(`+ ${word}`);
    return () => void watched.push(`- ${word}`);
  };
  const gone = new PosternError("session_not_found", "There is no such session.");
  const views = createTerminalViews({
    host: client,
    clock: systemClock,
    log: silentLog,
    sources: [(id) => ({ terminalId: id, watch })],
    gone: { resume: () => Promise.reject(gone), remains: () => Promise.reject(gone) },
    ...deps,
  });
  onTestFinished(() => views.close());
  return {
    client,
    views,
    watched,
    async spawn(spec: SpawnSpec): Promise<string> {
      await client.spawn(spec);
      return spec.terminalId;
    },
    view(sessionId: string, { caller = driver, link = createMemoryLink(), ...request }: ViewOptions = {}): MemoryLink {
      link.viewer = views.view(
        {
          sessionId,
          mode: undefined,
          size: undefined,
          protocol: "v1",
          continueAt: undefined,
          permissionsInTerminal: false,
          ...request,
        },
        caller,
        link,
      );
      return link;
    },
  };
}

/** Types as a client does. */
export function type(link: MemoryLink, text: string): void {
  link.viewer?.receive(Buffer.from(text), false);
}

/** Prints its input, byte by byte. */
export const reading = `
  process.stdin.setRawMode(true);
  process.stdin.on("data", (data) => { process.stdout.write("<" + data.toString("hex") + ">"); if (data.includes(4)) process.exit(7); });
  console.log("ready");`;
