import type { AgentErrand, AgentErrandKind, AgentSetup } from "../../src/wire/agent-setup.ts";

/** How far a step is; `skipped` is one that nobody needs. */
export type StepState = "done" | "skipped" | "open" | "later";

/** Whether sessions can be started with it. */
export function isReady({ isConfigured, binary, login }: AgentSetup): boolean {
  return isConfigured && binary !== null && login !== "logged_out";
}

export function programState({ isConfigured, binary }: AgentSetup): StepState {
  return isConfigured && binary !== null ? "done" : "open";
}

export function loginStepState({ isConfigured, binary, login, loginMethods }: AgentSetup): StepState {
  if (login === "logged_in") return "done";
  if (login === "key_variable") return "skipped";
  if (loginMethods.length === 0) return "skipped";
  return isConfigured && binary !== null ? "open" : "later";
}

/** What the step of the log-in says, without what is to be done. */
export function loginWords(agent: AgentSetup): string {
  const { login, keyVariable, loginMethods, isConfigured, binary } = agent;
  if (login === "logged_in") {
    return keyVariable === null ? "It is logged in." : `It is logged in, and the key in ${keyVariable} is not used.`;
  }
  if (keyVariable !== null) return `Not needed: the gateway's environment has a key in ${keyVariable}.`;
  if (loginMethods.length === 0) return "It has no log-in of its own. Give the gateway the variable with its key.";
  if (!isConfigured || binary === null) return "Comes when its program is there and used.";
  return login === "unknown" ? "It does not tell whether it is logged in." : "It is not logged in yet.";
}

/** What of this kind runs for the agent, else what ended a moment ago: the newest. */
export function errandOf({ errands }: AgentSetup, kind: AgentErrandKind): AgentErrand | undefined {
  const ofKind = errands.filter((errand) => errand.kind === kind);
  return ofKind.find(({ state }) => state === "running") ?? ofKind.at(-1);
}
