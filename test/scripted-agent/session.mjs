// What a session leaves on the disk: its transcript, its state file and its reports, in the forms that Claude Code uses.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { appendLine, cut } from "../../src/agents/hook-inbox.mjs";

export function createSession({ stateDir, id, resumes }) {
  const cwd = process.cwd();
  const projects = join(stateDir, "projects");
  const stateFile = join(stateDir, "sessions", `${process.pid}.json`);
  const branch = branchOf(cwd);
  let sessionId = id ?? crypto.randomUUID();
  let path = (resumes && findTranscript(projects, sessionId)) || newPath();
  let isSilent = false;
  mkdirSync(dirname(stateFile), { recursive: true });

  function newPath() {
    return join(projects, cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"), `${sessionId}.jsonl`);
  }

  /** Returns the line that is in the inbox, or null. */
  function report(event, fields, { sessionId: claimed = sessionId } = {}) {
    const inbox = process.env.POSTERN_SESSION_INBOX;
    if (!inbox || isSilent) return null;
    const payload = { session_id: claimed, transcript_path: path, cwd, hook_event_name: event, ...fields };
    const nonce = event === "PermissionRequest" ? crypto.randomUUID() : undefined;
    const line = JSON.stringify({ at: Date.now(), payload, nonce }, cut);
    return appendLine(inbox, line, event) ? line : null;
  }

  return {
    report,
    /** With the decision of the gateway, if it comes before the signal: then `pass` is called. */
    async untilDecided(line, { pass, signal }) {
      const socketPath = process.env.POSTERN_SESSION_PERMISSIONS;
      if (line === null || !socketPath) return;
      const { askForDecision } = await import("../../src/agents/hook-permission.mjs");
      const note = (settled) => appendLine(process.env.POSTERN_SESSION_INBOX, settled, "PermissionRequest");
      await askForDecision({ socketPath, line, note, pass, signal });
    },
    /** While it is silent nothing is reported. */
    silence: (silent) => (isSilent = silent),
    /** Continues with a new session. */
    begin() {
      sessionId = crypto.randomUUID();
      path = newPath();
      this.status("idle");
    },
    write(type, message, more = {}) {
      mkdirSync(dirname(path), { recursive: true });
      const timestamp = new Date().toISOString();
      const place = { sessionId, cwd, version: "1.0.0", gitBranch: branch };
      const line = { type, uuid: crypto.randomUUID(), timestamp, ...place, message, ...more };
      appendFileSync(path, `${JSON.stringify(line)}\n`);
    },
    /** The messages so far. */
    messages() {
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      return lines.filter(({ isApiErrorMessage }) => !isApiErrorMessage).map(({ message }) => message);
    },
    status(status, waitingFor) {
      const state = { pid: process.pid, sessionId, cwd, status, waitingFor, statusUpdatedAt: Date.now() };
      writeFileSync(`${stateFile}.new`, JSON.stringify(state));
      renameSync(`${stateFile}.new`, stateFile);
    },
    close: () => rmSync(stateFile, { force: true }),
  };
}

function findTranscript(projects, sessionId) {
  if (!existsSync(projects)) return null;
  const found = readdirSync(projects).map((project) => join(projects, project, `${sessionId}.jsonl`));
  return found.find((path) => existsSync(path)) ?? null;
}

function branchOf(dir) {
  try {
    const git = join(dir, ".git");
    const folder = /^gitdir: (.+)/.exec(readText(git))?.[1] ?? git;
    return /^ref: refs\/heads\/(.+)/.exec(readFileSync(join(folder, "HEAD"), "utf8"))?.[1] ?? "HEAD";
  } catch {
    return ""; // no repository
  }
}

/** Of a worktree `.git` is a file. */
function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
