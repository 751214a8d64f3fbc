import { cp, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import type { RescueListOutput } from "../../src/wire/changes.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { address, type DocumentedHome } from "./documented-home.ts";
import { makeTestFolder } from "./test-folder.ts";

/** How a documented command is run, where typing it and waiting for its end is not all. The first that fits counts. */
export interface Act {
  readonly command: RegExp;
  /** In these documents only; everywhere when left out. */
  readonly inDocument?: RegExp;
  /** Why it cannot be run here: then a shell has to understand it, and `postern` its options. */
  readonly notHere?: string;
  /** `serve`: until the next one. `follow`: to the end of the document, and it says something. `terminal`: in one. Else to its end. */
  readonly manner?: "serve" | "follow" | { readonly at: RegExp; readonly keys: string; readonly once?: true };
  /** What makes `follow` say something; again and again until it does. */
  meanwhile?(home: DocumentedHome): Promise<void>;
  /** 0 when left out. */
  readonly exitCode?: number;
  /** Needs no gateway, and none is started for it. */
  readonly withoutGateway?: true;
  /** Prepares what the command needs. Returns replacements for words of the command. */
  given?(home: DocumentedHome, cwd: string): Promise<Readonly<Record<string, string>> | void>;
}

interface SessionPage {
  readonly sessions: readonly SessionSummary[];
}

const fromElsewhere = "it is not on the machines of tests";
const detach = "\u001c";

export const acts: readonly Act[] = [
  { command: /^npm (ci|install|link)\b/, notHere: "it installs from npm's registry" },
  {
    command: /^npx wscat/,
    notHere: "npx gets it from npm's registry; the same exchange is in terminal-socket.test.ts",
  },
  {
    command: /--install\b/,
    notHere: "it installs from npm's registry; every branch of it is in setup-questions.test.ts",
  },
  {
    command:
      /^(ssh|tailscale|cloudflared|caddy|nginx|asciinema|qrencode|docker|podman|journalctl|launchctl|loginctl)\b/,
    notHere: fromElsewhere,
  },
  { command: /\| qrencode\b/, notHere: fromElsewhere },
  {
    command: /^postern folder (profile|clone)\b/,
    notHere: "it needs a folder of this name; folder-profile.test.ts and clones.test.ts run it",
  },
  {
    command: /^postern coding git\b/,
    notHere: "it needs a session with changes and a remote; publish.test.ts and update.test.ts run it",
  },
  { command: /postern completion /, notHere: "completion-command.test.ts runs each script in its own shell" },
  { command: /^postern stop\b/, notHere: "the next commands need the gateway; status-and-stop.test.ts runs it" },
  { command: /postern uninstall(?! --dry-run)/, notHere: "it removes this home; uninstall.test.ts runs it" },
  { command: /^cp container\//, given: copyOfRepository },
  { command: /--binary \/opt\/codex/, notHere: "no Codex is in /opt" },

  { command: /^postern coding setup(\s+#|$)/, manner: { at: /◆/, keys: "\r" }, withoutGateway: true },
  { command: /^postern coding setup/, withoutGateway: true },
  { command: /^(\w+=\S+ )?postern serve --host 0\.0\.0\.0$/, exitCode: 1, withoutGateway: true },
  { command: /^(\w+=\S+ )?postern serve\b/, manner: "serve", withoutGateway: true },
  { command: /^postern events --follow/, manner: "follow", given: liveSession, meanwhile: aPrompt },
  // Once: a second Ctrl-\ after the detach would quit the shell.
  { command: /^postern attach/, manner: { at: /\w/, keys: detach, once: true }, given: liveSession },
  { command: /^postern session forget <\w+>\s/, manner: { at: /\?/, keys: "y\r" }, given: closedSession },
  { command: /^postern coding answer/, given: askingSession },
  { command: /^postern browser revoke/, given: signedInBrowser },
  { command: /^postern rescue/, given: rescuedSession },
  { command: /^postern restore .*--replace/, given: stopped, withoutGateway: true },
  { command: /^postern restore/, given: emptied, withoutGateway: true },
  // It finds out that it may sign in, and waits for the browser.
  { command: /^codex mcp add postern --url \S+$/, manner: "follow", given: ownSettings },
  { command: /^(claude|codex) mcp add/, given: ownSettings },
  { command: /<(id|sessionId)>|"sessionId": "…"/, given: liveSession },
];

/** A session that lives, in the project. */
export async function liveSession(home: DocumentedHome): Promise<Readonly<Record<string, string>>> {
  const api = await home.api();
  const { body } = await api.post<SessionPage>("/api/coding/coding_list_sessions", {});
  const lives = body.sessions.find(
    ({ status, owner, worktree }) => status === "running" && owner === "gateway" && worktree === null,
  );
  const { sessionId } = lives ?? (await api.ask({ dir: home.project, prompt: "say hello", waitMs: 30_000 }));
  return asId(sessionId);
}

async function aPrompt(home: DocumentedHome): Promise<void> {
  const { "<id>": sessionId = "" } = await liveSession(home);
  await (await home.api()).ask({ dir: home.project, prompt: "say again", sessionId, waitMs: 30_000 });
}

const asId = (id: string): Readonly<Record<string, string>> => ({
  "<id>": id,
  "<sessionId>": id,
  "0b0c…": id,
  "…": id,
});

async function closedSession(home: DocumentedHome): Promise<Readonly<Record<string, string>>> {
  const found = await liveSession(home);
  await (await home.api()).post("/api/coding/coding_close_session", { sessionId: found["<id>"] });
  return found;
}

/** A session that waits for a permission. */
async function askingSession(home: DocumentedHome): Promise<Readonly<Record<string, string>>> {
  const prompt = "write asked.txt with by leave";
  const { permissions, sessionId } = await (await home.api()).ask({ dir: home.project, prompt, waitMs: 30_000 });
  expect(permissions).toHaveLength(1);
  return asId(sessionId);
}

async function signedInBrowser(home: DocumentedHome): Promise<Readonly<Record<string, string>>> {
  const api = await home.api();
  const { body: made } = await api.post<{ url: string }>("/api/sign-in-links", {});
  const link = made.url.split("#")[1];
  await fetch(`${address}/api/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: address },
    body: JSON.stringify({ link }),
  });
  const { body } = await api.get<{ browserSessions: readonly { browserSessionId: string }[] }>("/api/browser-sessions");
  return asId(body.browserSessions[0]?.browserSessionId ?? "none signed in");
}

/** One session whose worktree is gone, with something rescued from it; the same for the whole document. */
async function rescuedSession(home: DocumentedHome): Promise<Readonly<Record<string, string>>> {
  const api = await home.api();
  const [before] = (await api.post<RescueListOutput>("/api/coding/rescue_list", {})).body.rescues;
  if (before !== undefined) return asId(before.sessionId);
  const { body } = await api.post<SessionPage>("/api/coding/coding_list_sessions", {});
  const found = body.sessions.find(({ worktree, closedAt }) => worktree !== null && closedAt === null);
  if (found === undefined) throw new Error("No session of this document has a worktree.");
  await writeFile(join(found.dir, "kept.txt"), "work\n");
  await api.post("/api/coding/coding_close_session", { sessionId: found.sessionId });
  return asId(found.sessionId);
}

/** The files of a copy of the repository that documents mention. */
async function copyOfRepository(_home: DocumentedHome, cwd: string): Promise<void> {
  await cp(resolve(import.meta.dirname, "../../container"), join(cwd, "container"), { recursive: true });
}

async function stopped(home: DocumentedHome): Promise<void> {
  await home.stop();
}

/** A new machine, with the backup that was just made. */
async function emptied(home: DocumentedHome, cwd: string): Promise<void> {
  await home.stop();
  await cp(join(home.home, "postern.tar.gz"), join(cwd, "postern.tar.gz"));
  await rename(join(home.home, ".postern"), join(home.home, ".postern-before"));
}

/** Each vendor's settings as on the first day: the documents show several ways to add the same server. */
async function ownSettings(): Promise<Readonly<Record<string, string>>> {
  const dir = makeTestFolder("docs-mcp");
  return { "claude mcp": `HOME=${dir} claude mcp`, "codex mcp": `HOME=${dir} codex mcp`, "pst_…": "pst_0000" };
}
