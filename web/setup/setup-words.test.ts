import { expect, test } from "vitest";
import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import { errandOf, isReady, loginLabel, loginStepState, loginWords, programState } from "./setup-words.ts";

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
  errands: [],
};

const keyVariable = "OPENAI_API_KEY";

test.each([
  [{}, "open", /^It is not logged in yet/, "Log in", false],
  [{ login: "logged_in" }, "done", /^It is logged in\.$/, "Log in again", true],
  [{ login: "logged_in", keyVariable }, "done", /the key in OPENAI_API_KEY is not used/, "Log in again", true],
  [{ login: "key_variable", keyVariable }, "skipped", /^Not needed: .* OPENAI_API_KEY/, "Log in nevertheless", true],
  // Nothing is known of a program that is not there, but a key is.
  [{ login: "unknown", binary: null, keyVariable }, "skipped", /^Not needed/, "Log in nevertheless", false],
  [{ login: "logged_out", keyVariable }, "open", /told not to use the key in OPENAI_API_KEY/, "Log in", false],
  [{ login: "unknown" }, "open", /does not tell/, "Log in", true],
  [{ isConfigured: false }, "later", /^Comes when/, "Log in", false],
  [{ loginMethods: [] }, "skipped", /no log-in of its own/, "Log in nevertheless", false],
] satisfies [Partial<AgentSetup>, string, RegExp, string, boolean][])(
  "the log-in of an agent with %o is %s",
  (changes, state, words, label, ready) => {
    const changed: AgentSetup = { ...agent, ...changes };
    expect(loginStepState(changed)).toBe(state);
    expect(loginWords(changed)).toMatch(words);
    expect(loginLabel("browser", loginStepState(changed))).toBe(label);
    expect(isReady(changed)).toBe(ready);
  },
);

test("a program is done when it is there and used", () => {
  expect(programState(agent)).toBe("done");
  expect(programState({ ...agent, isConfigured: false })).toBe("open");
  expect(programState({ ...agent, binary: null })).toBe("open");
});

test("what runs is shown before what has ended, and of that the newest", () => {
  const ended = (sessionId: string) => ({ kind: "login", sessionId, state: "ended", exitCode: 1 }) as const;
  const running = { kind: "login", sessionId: "c", state: "running", exitCode: null } as const;
  expect(errandOf({ ...agent, errands: [running, ended("a")] }, "login")).toBe(running);
  expect(errandOf({ ...agent, errands: [ended("a"), ended("b")] }, "login")?.sessionId).toBe("b");
  expect(errandOf({ ...agent, errands: [running] }, "install")).toBeUndefined();
});
