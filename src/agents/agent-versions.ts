import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { agentError } from "./errors.ts";
import type { ResolvedAgent } from "./registry.ts";
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

/** Null for a supported version, and for one that cannot be compared: an agent is refused only for a reason. */
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

/** @throws PosternError `agent_too_old` */
export function requireSupported(agent: VersionedAgent, version: string | null): void {
  const notice = versionNotice(agent, version);
  if (notice?.kind === "too_old") throw agentError("agent_too_old", `${notice.message} Run \`${notice.fix}\`.`);
}

/** Gemini CLI needs a second or two to print its version. A start waits for the answer only after the program was changed. */
const versionWaitMs = 5_000;

/** Checks the version of a program that is about to be started. @throws PosternError `agent_too_old` */
export function createLaunchCheck({
  versionOf,
  clock,
  log,
}: {
  readonly versionOf: (agent: ResolvedAgent) => Promise<string | null>;
  readonly clock: Clock;
  readonly log: Log;
}): (agent: ResolvedAgent) => Promise<void> {
  /** The untested version that was logged, by agent. */
  const logged = new Map<string, string>();

  /** Null after {@link versionWaitMs}. */
  async function versionSoon(agent: ResolvedAgent): Promise<string | null> {
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

/** By semantic versioning, where `1.2.0-beta.1` is older than `1.2.0`. False if one of them is not a version. */
function isOlder(version: string, than: string): boolean {
  const [left, right] = [parseVersion(version), parseVersion(than)];
  if (left === null || right === null) return false;
  const byNumbers = compareLists(left.numbers, right.numbers);
  if (byNumbers !== 0) return byNumbers < 0;
  if (left.label.length === 0 || right.label.length === 0) return left.label.length > right.label.length;
  return compareLists(left.label, right.label) < 0;
}

interface Version {
  readonly numbers: readonly number[];
  /** The identifiers of a pre-release; empty for a release. */
  readonly label: readonly (string | number)[];
}

const versionForm = /^(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

function parseVersion(text: string): Version | null {
  const [, major, minor, patch = "0", label] = versionForm.exec(text) ?? [];
  const numbers = [major, minor, patch].map(Number);
  // Builds from source are 0.0.0 (Codex).
  if (major === undefined || numbers.every((one) => one === 0)) return null;
  return { numbers, label: label?.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part)) ?? [] };
}

/** Negative if `left` is first. Numbers precede words, and a shorter list its extensions. */
function compareLists(left: readonly (string | number)[], right: readonly (string | number)[]): number {
  for (const [index, one] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (one === other) continue;
    if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return left.length - right.length;
}
