import parse from "semver/functions/parse.js";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { agentError } from "./errors.ts";
import type { AgentTemplate } from "./template.ts";

/** Something about an agent's installed version that its user should know. */
export interface VersionNotice {
  /** `too_old`: it is not started. `untested`: newer than the tests. */
  readonly kind: "too_old" | "untested";
  /** One sentence. */
  readonly message: string;
  /** The command that fixes it, or null. */
  readonly fix: string | null;
}

type VersionedAgent = Pick<AgentTemplate, "displayName" | "releases">;

/** Null for a supported version, and for a version that cannot be compared: an agent is refused only for a known problem. */
export function versionNotice({ displayName, releases }: VersionedAgent, version: string | null): VersionNotice | null {
  if (releases === null || version === null) return null;
  const { minimum, newestTested, updateCommand } = releases;
  if (isOlder(version, minimum)) {
    const message = `${displayName} ${version} is too old: Postern needs ${minimum} or newer.`;
    return { kind: "too_old", message, fix: updateCommand };
  }
  if (isOlder(newestTested, version)) {
    const message = `${displayName} ${version} is newer than ${newestTested}, the newest version that Postern was tested with.`;
    return { kind: "untested", message, fix: null };
  }
  return null;
}

/** @throws PosternError `agent_version_unsupported` */
export function requireSupported(agent: VersionedAgent, version: string | null): void {
  const notice = versionNotice(agent, version);
  if (notice?.kind !== "too_old") return;
  throw agentError("agent_version_unsupported", `${notice.message} Run \`${notice.fix}\`.`, {
    details: { found: version, minimum: agent.releases?.minimum, command: notice.fix },
  });
}

/** Gemini CLI needs a second or two to print its version. A start waits for the answer only after the program was changed. */
const versionWaitMs = 5_000;

/** Checks the version of a program that is about to be started. @throws PosternError `agent_version_unsupported` */
export function createLaunchCheck<Agent extends { readonly template: AgentTemplate }>({
  versionOf,
  clock,
  log,
}: {
  readonly versionOf: (agent: Agent) => Promise<string | null>;
  readonly clock: Clock;
  readonly log: Log;
}): (agent: Agent) => Promise<void> {
  /** The untested version that was logged, by agent. */
  const logged = new Map<string, string>();

  /** Null after {@link versionWaitMs}. */
  async function versionSoon(agent: Agent): Promise<string | null> {
    let cancel = (): void => undefined;
    const late = new Promise<null>((resolve) => {
      cancel = clock.after(versionWaitMs, () => resolve(null));
    });
    try {
      return await Promise.race([versionOf(agent), late]);
    } finally {
      cancel();
    }
  }

  return async (agent) => {
    const { name, releases } = agent.template;
    if (releases === null) return;
    const version = await versionSoon(agent);
    requireSupported(agent.template, version);
    if (version === null || versionNotice(agent.template, version) === null || logged.get(name) === version) return;
    logged.set(name, version);
    log.warn({ agent: name, version, newestTested: releases.newestTested }, "this version of the agent is untested");
  };
}

/** Compares semantic versions. False if either is not a version. Codex built from source reports 0.0.0. */
function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => parse(text) ?? parse(`${text}.0`));
  return left != null && right != null && left.compareMain("0.0.0") !== 0 && left.compare(right) < 0;
}
