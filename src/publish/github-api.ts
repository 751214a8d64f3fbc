import { z } from "zod";
import { publishError } from "./errors.ts";
import type { ForgeRepository } from "./forge-remote.ts";
import { plainOutput, type UserGit } from "./user-git.ts";

/** A forge that does not answer within this time is reported as failed. */
const timeoutMs = 60_000;

/** So that `gh` prints only the answer, and never asks. An empty value turns a variable off. */
const quiet = {
  GH_PROMPT_DISABLED: "1",
  GH_NO_UPDATE_NOTIFIER: "1",
  GH_PAGER: "cat",
  GH_DEBUG: "",
  DEBUG: "",
  GH_FORCE_TTY: "",
  CLICOLOR_FORCE: "",
  NO_COLOR: "1",
};

/** `status` is the HTTP status. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** GitHub's API through the user's `gh`. Whatever a caller or a repository chose is sent on standard input, never as an argument. */
export interface GitHubApi {
  rest(method: "POST" | "PUT", path: string, body: Readonly<Record<string, unknown>>): Promise<ApiAnswer>;
  /** The `repository` of a query that asks for one. @throws PosternError `forge_not_available` if this login has no access to it */
  query<Schema extends z.ZodType>(
    schema: Schema,
    query: string,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.infer<Schema>>;
}

interface GhPlace {
  readonly git: UserGit;
  readonly root: string;
  readonly environment: () => Readonly<Record<string, string>>;
}

/**
 * Whether `gh` has a login for this host.
 * @returns null if it has none
 * @throws PosternError `forge_not_available` if `gh` is missing or too old
 */
export async function gitHubApi(place: GhPlace, { host }: Pick<ForgeRepository, "host">): Promise<GitHubApi | null> {
  if (!hosts.has(host) && !(await hasLogin(place, host))) return null;

  async function call(args: readonly string[], body: Readonly<Record<string, unknown>>): Promise<ApiAnswer> {
    const result = await runGh(place, ["api", `--hostname=${host}`, "--include", "--input=-", ...args], {
      host,
      input: JSON.stringify(body),
    });
    const text = result.stdout.toString("utf8");
    const [head, code] = /^HTTP\/\S+ (\d{3}).*?\n\r?\n/s.exec(text) ?? [];
    if (head === undefined) {
      if (/gh auth login/.test(result.stderr)) throw notLoggedIn(host);
      throw gitHubFailed(host, lastLine(result.stderr) || "it took too long");
    }
    if (code === "401") throw notLoggedIn(host);
    return { status: Number(code), body: parsed(text.slice(head.length)) };
  }

  return {
    rest: (method, path, body) => call([`--method=${method}`, path], body),
    async query(schema, query, variables) {
      const { body } = await call(["graphql"], { query, variables });
      const { data, errors } = graphSchema.parse(body);
      if (data === null) throw gitHubFailed(host, errors[0]?.message ?? messageOfBody(body));
      if (data.repository === null) throw noAccess(host, errors[0]?.message);
      // A token that cannot read a part, such as checks, gets the rest, with errors.
      const { data: repository, error } = schema.safeParse(data.repository);
      if (error === undefined) return repository;
      throw gitHubFailed(host, errors[0]?.message ?? "its answer has an unknown form");
    },
  };
}

/** GitHub's own hosts; `github.localhost` is for its developers. `gh` itself says if it is not logged in there. */
const hosts: ReadonlySet<string> = new Set(["github.com", "github.localhost"]);

/** Asks no host. `gh auth status` does, and also refuses tokens that can do all we need. */
async function hasLogin(place: GhPlace, host: string): Promise<boolean> {
  const { exitCode, stderr } = await runGh(place, ["auth", "token", `--hostname=${host}`], { host });
  if (exitCode === 0) return true;
  if (!/unknown command/.test(stderr)) return false;
  throw publishError("forge_not_available", "`gh` is too old. Install version 2.17 or newer (https://cli.github.com).");
}

const graphSchema = z
  .object({
    data: z
      .object({ repository: z.unknown().transform((repository) => repository ?? null) })
      .nullish()
      .transform((data) => data ?? null),
    errors: z.array(z.object({ message: z.string() })).catch([]),
  })
  .catch({ data: null, errors: [] });

/** @throws PosternError `forge_not_available` if `gh` is missing */
async function runGh(
  { git, root, environment }: GhPlace,
  args: readonly string[],
  { host, input }: { readonly host: string; readonly input?: string },
) {
  // These are for one host, which `GH_HOST` names. `gh` would send them to any host that a repository's remote has.
  const isOther = environment()["GH_HOST"]?.toLowerCase() !== host;
  const env = {
    ...quiet,
    ...(isOther && { GH_ENTERPRISE_TOKEN: "", GITHUB_ENTERPRISE_TOKEN: "" }),
    // `gh` would send these to this machine, over plain HTTP.
    ...(isOther && host === "github.localhost" && { GH_TOKEN: "", GITHUB_TOKEN: "" }),
  };
  const result = await git.runProgram(["gh", ...args], { root, timeoutMs, env, ...(input !== undefined && { input }) });
  if (result !== null) return result;
  throw publishError(
    "forge_not_available",
    `\`gh\` is not on PATH. Install it (https://cli.github.com), then run \`gh auth login --hostname ${host}\`.`,
  );
}

export function notLoggedIn(host: string) {
  return publishError(
    "forge_not_available",
    `\`gh\` is not logged in to ${host}, or its login has expired. Run \`gh auth login --hostname ${host}\`.`,
  );
}

/** @param why GitHub's words */
export function noAccess(host: string, why = "Not found") {
  return publishError(
    "forge_not_available",
    `${host} does not give access to the repository: ${plainOutput(why).slice(0, 300)}. If another user has access, run \`gh auth login --hostname ${host}\`.`,
  );
}

/** @param why what `gh` or GitHub said */
export function gitHubFailed(host: string, why: string) {
  return publishError("forge_failed", `${host} did not do this: ${plainOutput(why).slice(0, 500)}`);
}

/** GitHub's explanation of an error. */
export function messageOfBody(body: unknown): string {
  const { message, errors } = z
    .object({
      message: z.string().catch("it gave no reason"),
      errors: z
        .array(z.union([z.string(), z.object({ message: z.string() }).transform((one) => one.message)]))
        .catch([]),
    })
    .catch({ message: "it gave no reason", errors: [] })
    .parse(body);
  return [message, ...errors].join(": ");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // such as the page of a proxy
  }
}

function lastLine(text: string): string {
  return (
    plainOutput(text)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .at(-1) ?? ""
  );
}
