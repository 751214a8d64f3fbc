import type { AgentSetup, AgentSetupJob, AgentSetupJobKind, LoginMethod } from "../../src/wire/agent-setup.ts";

/** `skipped`: not needed. */
export type StepState = "done" | "skipped" | "open" | "later";

/** Whether it can start sessions. */
export function isReady({ isConfigured, binary, login }: AgentSetup): boolean {
  return isConfigured && binary !== null && login !== "logged_out";
}

export function programState({ isConfigured, binary }: AgentSetup): StepState {
  return isConfigured && binary !== null ? "done" : "open";
}

export function loginStepState(agent: AgentSetup): StepState {
  const { isConfigured, binary, login, loginMethods } = agent;
  if (login === "logged_in") return "done";
  if (hasKey(agent) || loginMethods.length === 0) return "skipped";
  return isConfigured && binary !== null ? "open" : "later";
}

/** Whether the agent uses a key. If the agent asks, the user may have refused to let it use the key. */
function hasKey({ keyVariable, login }: AgentSetup): boolean {
  return keyVariable !== null && login !== "logged_out";
}

export function loginWords(agent: AgentSetup): string {
  const { login, keyVariable, loginMethods, isConfigured, binary } = agent;
  if (login === "logged_in") {
    return keyVariable === null ? "Logged in." : `Logged in. The key in ${keyVariable} is not used.`;
  }
  if (hasKey(agent)) return `Not needed: the gateway's environment has a key in ${keyVariable}.`;
  if (loginMethods.length === 0)
    return "This agent has no login. Set the variable with its key in the gateway's environment.";
  if (!isConfigured || binary === null) return "Available when its program is installed and configured.";
  if (keyVariable !== null) return `Not logged in, and set not to use the key in ${keyVariable}.`;
  return login === "unknown" ? "This agent does not report whether it is logged in." : "Not logged in yet.";
}

export function loginLabel(method: LoginMethod, state: StepState): string {
  if (method === "code") return "Log in with a code";
  return state === "done" ? "Log in again" : state === "skipped" ? "Log in anyway" : "Log in";
}

/** The job that is running or waiting, else the newest that ended. */
export function setupJobOf({ setupJobs: jobs }: AgentSetup, kind: AgentSetupJobKind): AgentSetupJob | undefined {
  const ofKind = jobs.filter((job) => job.kind === kind);
  return ofKind.find(({ state }) => state !== "ended") ?? ofKind.at(-1);
}

/** Shown while an installation waits for others. */
export function waitingWords({ ahead }: Pick<AgentSetupJob, "ahead">): string {
  return ahead === 1
    ? "Waiting for another installation to finish."
    : `Waiting for ${ahead} other installations to finish.`;
}
