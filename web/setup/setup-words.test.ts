import { expect, test } from "vitest";
import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import {
  isReady,
  loginLabel,
  loginStepState,
  loginWords,
  programState,
  setupJobOf,
  waitingWords,
} from "./setup-words.ts";

const agent: AgentSetup = {
  name: "codex",
  aliases: [],
  title: "Codex CLI",
  isConfigured: true,
  isDefault: false,
  binary: "/code/codex",
  version: "0.9.9",
  login: "logged_out",
  installCommand: null,
  loginMethods: ["browser"],
  keyVariable: null,
  setupJobs: [],
};

const keyVariable = "OPENAI_API_KEY";

const cases: readonly {
  readonly changes: Partial<AgentSetup>;
  readonly state: string;
  readonly words: RegExp;
  readonly label: string;
  readonly ready: boolean;
}[] = [
  { changes: {}, state: "open", words: /^Not logged in yet/, label: "Log in", ready: false },
  { changes: { login: "logged_in" }, state: "done", words: /^Logged in\.$/, label: "Log in again", ready: true },
  {
    changes: { login: "logged_in", keyVariable },
    state: "done",
    words: /The key in OPENAI_API_KEY is not used/,
    label: "Log in again",
    ready: true,
  },
  {
    changes: { login: "key_variable", keyVariable },
    state: "skipped",
    words: /^Not needed: .* OPENAI_API_KEY/,
    label: "Log in anyway",
    ready: true,
  },
  // The login of a missing program is unknown, but its key is known.
  {
    changes: { login: "unknown", binary: null, keyVariable },
    state: "skipped",
    words: /^Not needed/,
    label: "Log in anyway",
    ready: false,
  },
  {
    changes: { login: "logged_out", keyVariable },
    state: "open",
    words: /set not to use the key in OPENAI_API_KEY/,
    label: "Log in",
    ready: false,
  },
  { changes: { login: "unknown" }, state: "open", words: /does not report/, label: "Log in", ready: true },
  { changes: { isConfigured: false }, state: "later", words: /^Available when/, label: "Log in", ready: false },
  {
    changes: { loginMethods: [] },
    state: "skipped",
    words: /has no login/,
    label: "Log in anyway",
    ready: false,
  },
];

test.each(cases)("the login of an agent with $changes is $state", ({ changes, state, words, label, ready }) => {
  const changed: AgentSetup = { ...agent, ...changes };
  expect(loginStepState(changed)).toBe(state);
  expect(loginWords(changed)).toMatch(words);
  expect(loginLabel("browser", loginStepState(changed))).toBe(label);
  expect(isReady(changed)).toBe(ready);
});

test("a program is done when it is installed and configured", () => {
  expect(programState(agent)).toBe("done");
  expect(programState({ ...agent, isConfigured: false })).toBe("open");
  expect(programState({ ...agent, binary: null })).toBe("open");
});

test("a running job is shown before ended ones, then the newest", () => {
  const ended = (sessionId: string) => ({ kind: "login", sessionId, state: "ended", exitCode: 1, ahead: 0 }) as const;
  const running = { kind: "login", sessionId: "c", state: "running", exitCode: null, ahead: 0 } as const;
  expect(setupJobOf({ ...agent, setupJobs: [running, ended("a")] }, "login")).toBe(running);
  expect(setupJobOf({ ...agent, setupJobs: [ended("a"), ended("b")] }, "login")?.sessionId).toBe("b");
  expect(setupJobOf({ ...agent, setupJobs: [running] }, "install")).toBeUndefined();
  const waiting = { kind: "install", sessionId: "w", state: "waiting", exitCode: null, ahead: 2 } as const;
  expect(setupJobOf({ ...agent, setupJobs: [waiting] }, "install")).toBe(waiting);
});

test("a queued installation shows how many are ahead of it", () => {
  expect(waitingWords({ ahead: 1 })).toMatch(/another installation/);
  expect(waitingWords({ ahead: 2 })).toMatch(/2 other installations/);
});
