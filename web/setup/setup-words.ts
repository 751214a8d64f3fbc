import type { AgentSetup, AgentSetupJob, AgentSetupJobKind, LoginMethod } from "../../src/wire/agent-setup.ts";

/** How far a step is; `skipped` is one that is not needed. */
export type StepState = "done" | "skipped" | "open" | "later";

/** Whether sessions can be started with it. */
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

/** One that the agent uses: where it is asked about its key, the person may have said no. */
function hasKey({ keyVariable, login }: AgentSetup): boolean {
  return keyVariable !== null && login !== "logged_out";
}

/** What the step of the log-in says, without what is to be done. */
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

/** What the button of a way to log in says. */
export function loginLabel(method: LoginMethod, state: StepState): string {
  if (method === "code") return "Log in with a code";
  return state === "done" ? "Log in again" : state === "skipped" ? "Log in anyway" : "Log in";
}

/** What of this kind runs or waits for the agent, else what ended a moment ago: the newest. */
export function setupJobOf({ errands: jobs }: AgentSetup, kind: AgentSetupJobKind): AgentSetupJob | undefined {
  const ofKind = jobs.filter((job) => job.kind === kind);
  return ofKind.find(({ state }) => state !== "ended") ?? ofKind.at(-1);
}

/** What is said while an installation waits for others. */
export function waitingWords({ ahead }: Pick<AgentSetupJob, "ahead">): string {
  return ahead === 1
    ? "Waiting for another installation to finish."
    : `Waiting for ${ahead} other installations to finish.`;
}
