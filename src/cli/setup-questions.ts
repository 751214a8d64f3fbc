import { confirm, intro, isCancel, log, multiselect, outro, select, text } from "@clack/prompts";
import { hasCode, messageOf } from "../core/errors.ts";
import { absolutePath } from "./options.ts";
import { plainLine } from "./plain-text.ts";
import type { KnownAgent } from "./ports.ts";
import { installAgent, logInAgent, noticeText, type SetupPlace, type SetupPlan, tooOld } from "./setup-steps.ts";

/** Questions that options have already answered. */
interface Answered {
  readonly default?: string;
  readonly login?: boolean;
}

/** Asks questions in this terminal. Nothing is saved before the last answer. @returns null after Ctrl-C */
export async function askForPlan(
  known: readonly KnownAgent[],
  answered: Answered,
  place: SetupPlace,
): Promise<SetupPlan | null> {
  intro("Set up agents for Postern");
  const names = await multiselect({
    message: "Agents (space to select, enter to confirm)",
    options: known.map((agent) => ({ value: agent.name, label: plainLine(agent.title), hint: hintOf(agent) })),
    initialValues: known.filter(({ binary, isConfigured }) => isConfigured || binary !== null).map(({ name }) => name),
    required: true,
  });
  if (isCancel(names)) return null;
  const chosen: { readonly name: string; readonly binary: string | null; readonly title: string }[] = [];
  for (const agent of known.filter(({ name }) => names.includes(name))) {
    const binary = await askForProgram(agent, place);
    if (binary === cancelled) return null;
    if (binary === skipped) continue;
    const now = await place.stores.agents.locate(agent.name, binary);
    if ((await askForLogin(now, answered, place)) === cancelled) return null;
    chosen.push({ name: agent.name, binary, title: agent.title });
  }
  if (chosen.length === 0) {
    outro("No agents left to configure.");
    return null;
  }
  const defaultAgent = answered.default ?? (await askForDefault(chosen, known));
  if (defaultAgent === cancelled) return null;
  outro("Done.");
  return { agents: chosen.map(({ name, binary }) => ({ name, binary })), defaultAgent };
}

const cancelled = Symbol("cancelled");
const skipped = Symbol("skipped");

function hintOf({ binary, version, npmPackage }: KnownAgent): string {
  if (binary !== null) return plainLine(`${version ?? "no version"}, ${binary}`);
  return npmPackage === null ? "not found" : "not found; can be installed from npm";
}

/** @returns null for a program that is on PATH */
async function askForProgram(
  agent: KnownAgent,
  place: SetupPlace,
): Promise<string | null | typeof cancelled | typeof skipped> {
  let old = tooOld(agent, place.stores);
  if (agent.binary !== null && old === null) {
    // Keeps a path that is already configured.
    const onPath = await place.stores.agents.locate(agent.name, null);
    return onPath.binary === agent.binary ? null : agent.binary;
  }
  const title = plainLine(agent.title);
  const install = agent.installCommand;
  for (;;) {
    const way = await select<"install" | "path" | "skip">({
      message: old === null ? `${title} is not on PATH.` : plainLine(old.message),
      options: [
        ...(install === null
          ? []
          : [{ value: "install" as const, label: `${old === null ? "Install" : "Update"} it: ${install.join(" ")}` }]),
        { value: "path", label: "Enter the path of its program" },
        { value: "skip", label: "Skip" },
      ],
    });
    if (isCancel(way)) return cancelled;
    if (way === "skip") return skipped;
    try {
      const binary = way === "install" ? (await installAgent(agent, place)).binary : await askForPath(title, place);
      if (binary === cancelled) return cancelled;
      const found = await place.stores.agents.locate(agent.name, binary);
      old = tooOld(found, place.stores);
      if (old === null && (found.version !== null || way === "install")) return binary;
      log.error(old === null ? `${binary} does not report a version.` : noticeText(old));
    } catch (error) {
      if (!hasCode(error, "agent_binary_missing")) throw error;
      log.error(messageOf(error));
    }
  }
}

async function askForPath(title: string, { context }: SetupPlace): Promise<string | typeof cancelled> {
  const path = await text({
    message: `Path of the ${title} program`,
    placeholder: "/usr/local/bin/…",
    validate: required,
  });
  return isCancel(path) ? cancelled : absolutePath(path.trim(), context.cwd);
}

function required(value: string | undefined): string | undefined {
  return (value ?? "").trim() === "" ? "Enter a path." : undefined;
}

async function askForLogin(
  agent: KnownAgent,
  { login }: Answered,
  place: SetupPlace,
): Promise<typeof cancelled | undefined> {
  const title = plainLine(agent.title);
  if (agent.login === "logged_in") log.info(`${title} is logged in.`);
  else if (agent.keyVariable !== null && agent.login !== "logged_out")
    log.info(`${title} uses the key in ${agent.keyVariable}, so no login is needed.`);
  else if (agent.loginMethods.length > 0 && login !== false) {
    const wanted = login ?? (await confirm({ message: `Log in to ${title} now?` }));
    if (isCancel(wanted)) return cancelled;
    if (!wanted) return undefined;
    if (await logInAgent(agent, place)) log.success(`${title} is logged in.`);
    else log.warn(`${title} is not logged in yet. To log in: postern coding setup --agent ${agent.name} --login`);
  }
  return undefined;
}

async function askForDefault(
  chosen: readonly { readonly name: string; readonly title: string }[],
  known: readonly KnownAgent[],
): Promise<string | null | typeof cancelled> {
  const [first] = chosen;
  if (first === undefined || chosen.length === 1) return first?.name ?? null;
  const name = await select({
    message: "Default agent for requests that do not specify one",
    options: chosen.map((agent) => ({ value: agent.name, label: plainLine(agent.title) })),
    initialValue: known.find(({ isDefault }) => isDefault)?.name ?? first.name,
  });
  return isCancel(name) ? cancelled : name;
}
