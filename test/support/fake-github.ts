import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { z } from "zod";

// A stand-in for the parts of GitHub's API that Postern asks `gh` for, written for these tests; it is not GitHub. Pull requests are branches
// of a real bare repository, and a merge really merges there. `gh` reaches it through a Unix socket.

const run = promisify(execFile);

/** The host that `gh` speaks plain HTTP to. */
export const fakeHost = "github.localhost";
const token = "gho_scripted";

export interface FakePullRequest {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
  readonly base: string;
  readonly head: string;
  state: "OPEN" | "MERGED" | "CLOSED";
  headCommit: string;
}

/** What a test sets; of the newest pull request. Texts are in the form of the GraphQL API. */
interface FakeDetails {
  checks: readonly Readonly<Record<string, unknown>>[];
  comments: readonly Readonly<Record<string, unknown>>[];
  reviews: readonly Readonly<Record<string, unknown>>[];
  threads: readonly Readonly<Record<string, unknown>>[];
  decision: string | null;
}

export interface FakeGitHub {
  readonly pullRequests: readonly FakePullRequest[];
  readonly details: FakeDetails;
  /** Every request, with its body. */
  readonly requests: readonly { readonly path: string; readonly host: string; readonly body: string }[];
  /** The environment of a user who is logged in; and of one who is not. */
  readonly env: {
    readonly loggedIn: Readonly<Record<string, string>>;
    readonly loggedOut: Readonly<Record<string, string>>;
  };
}

export function checkRun(name: string, conclusion: string | null, more: Readonly<Record<string, unknown>> = {}) {
  const status = conclusion === null ? "IN_PROGRESS" : "COMPLETED";
  const url = `http://${fakeHost}/checks`;
  return { kind: "CheckRun", name, status, conclusion, detailsUrl: url, title: null, summary: null, ...more };
}

export function commitStatus(context: string, state: string, description: string | null = null) {
  return { kind: "StatusContext", context, state, targetUrl: null, description };
}

/** A comment by `login` in this minute. */
export function comment(login: string, body: string, minute: number) {
  const createdAt = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return { author: { login }, body, createdAt, url: `http://${fakeHost}/o/r/pull/1#${minute}`, isMinimized: false };
}

/** @param root a folder of the test @param bare the repository `o/r` */
export async function startFakeGitHub({
  root,
  bare,
}: {
  readonly root: string;
  readonly bare: string;
}): Promise<FakeGitHub> {
  const socketPath = join(root, "gh.sock");
  const pullRequests: FakePullRequest[] = [];
  const requests: FakeGitHub["requests"][number][] = [];
  const details: FakeDetails = { checks: [], comments: [], reviews: [], threads: [], decision: null };
  const git = async (...args: readonly string[]) =>
    (await run("git", ["-C", bare, ...args], { env: gitEnv })).stdout.trim();
  const branch = (name: string) => git("rev-parse", "--verify", "--quiet", `refs/heads/${name}`);

  async function answer(method: string, path: string, body: unknown): Promise<Answer> {
    // `gh auth status` asks for these.
    if (path === "/") return { status: 200, body: {} };
    if (path === "/graphql" && JSON.stringify(body).includes("UserCurrent")) {
      return { status: 200, body: { data: { viewer: { login: "scripted" } } } };
    }
    if (path === "/graphql") return graph(body);
    if (method === "POST" && path === "/repos/o/r/pulls") return open(openSchema.parse(body));
    const [, number] = /^\/repos\/o\/r\/pulls\/(\d+)\/merge$/.exec(path) ?? [];
    const found = pullRequests.find((one) => one.number === Number(number));
    return found === undefined || method !== "PUT" ? notFound : merge(found, mergeSchema.parse(body));
  }

  async function open({ head, base, title, body, draft }: z.infer<typeof openSchema>): Promise<Answer> {
    const commit = await branch(head).catch(() => null);
    if (commit === null) return { status: 422, body: invalid("head is invalid") };
    if (pullRequests.some((one) => one.head === head && one.state === "OPEN")) {
      return { status: 422, body: invalid(`A pull request already exists for o:${head}.`) };
    }
    const number = pullRequests.length + 1;
    pullRequests.push({ number, title, body, draft, base, head, state: "OPEN", headCommit: commit });
    return { status: 201, body: { number } };
  }

  async function merge(
    found: FakePullRequest,
    { sha, merge_method: how }: z.infer<typeof mergeSchema>,
  ): Promise<Answer> {
    const { base, head, number } = found;
    if (sha !== (await branch(head))) {
      return { status: 409, body: { message: "Head branch was modified. Review and try the merge again." } };
    }
    if (details.checks.some(({ conclusion, state }) => conclusion === "FAILURE" || state === "FAILURE")) {
      return { status: 405, body: { message: 'Required status check "build" is failing.' } };
    }
    const [target, tree] = [await branch(base), await git("merge-tree", "--write-tree", base, head)];
    const parents = how === "merge" ? ["-p", target, "-p", sha] : ["-p", target];
    const merged = await git("commit-tree", tree, ...parents, "-m", `Merge pull request #${number}`);
    await git("update-ref", `refs/heads/${base}`, merged, target);
    found.state = "MERGED";
    return { status: 200, body: { merged: true, sha: merged } };
  }

  async function graph(body: unknown): Promise<Answer> {
    const { variables, query } = graphSchema.parse(body);
    if (variables.owner !== "o" || variables.name !== "r") {
      const message = `Could not resolve to a Repository with the name '${variables.owner}/${variables.name}'.`;
      return { status: 200, body: { data: { repository: null }, errors: [{ type: "NOT_FOUND", message }] } };
    }
    for (const one of pullRequests) if (one.state === "OPEN") one.headCommit = await branch(one.head);
    const found = pullRequests.find(({ number }) => number === variables.number);
    if (found !== undefined) {
      const pullRequest = query.includes("mergeStateStatus")
        ? whole(found, variables.after)
        : rollup(found, variables.after);
      return { status: 200, body: { data: { repository: { pullRequest } } } };
    }
    const nodes = await Promise.all(
      pullRequests
        .filter(({ head }) => head === variables.branch)
        .toReversed()
        .map(async ({ number, state, headCommit, base }) => ({
          number,
          state,
          isCrossRepository: false,
          headRepositoryOwner: { login: "o" },
          commits: { nodes: await commitsOf(headCommit, base) },
        })),
    );
    return { status: 200, body: { data: { repository: { pullRequests: { nodes } } } } };
  }

  async function commitsOf(headCommit: string, base: string) {
    const before = await git("rev-list", "--first-parent", "--max-count=1", `${base}~1`).catch(() => base);
    const listed = await git("rev-list", headCommit, `^${before}`);
    return [...new Set([headCommit, ...listed.split("\n")])].map((oid) => ({ commit: { oid } }));
  }

  /** In pages of 100, as GitHub. */
  function rollup(_: FakePullRequest, after: string | null | undefined) {
    const from = Number(after ?? 0);
    const nodes = details.checks.slice(from, from + 100);
    const words = details.checks.map(({ conclusion, state }) => conclusion ?? state ?? "PENDING");
    const state = words.includes("FAILURE") ? "FAILURE" : words.includes("PENDING") ? "PENDING" : "SUCCESS";
    const pageInfo = { hasNextPage: from + 100 < details.checks.length, endCursor: String(from + 100) };
    const statusCheckRollup = details.checks.length === 0 ? null : { state, contexts: { pageInfo, nodes } };
    return { commits: { nodes: [{ commit: { statusCheckRollup } }] } };
  }

  function whole(found: FakePullRequest, after: string | null | undefined) {
    const { commits } = rollup(found, after);
    const blocked = details.checks.some(({ conclusion }) => conclusion === "FAILURE");
    return {
      number: found.number,
      url: `http://${fakeHost}/o/r/pull/${found.number}`,
      title: found.title,
      state: found.state,
      isDraft: found.draft,
      baseRefName: found.base,
      headRefName: found.head,
      headRefOid: found.headCommit,
      mergeable: found.state === "OPEN" ? "MERGEABLE" : "UNKNOWN",
      mergeStateStatus: found.state !== "OPEN" ? "UNKNOWN" : blocked ? "BLOCKED" : "CLEAN",
      reviewDecision: details.decision,
      comments: { nodes: details.comments },
      reviews: { nodes: details.reviews },
      reviewThreads: { nodes: details.threads },
      commits,
    };
  }

  const server = createServer((request, response) => void respond(request, response));

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += chunk;
    const path = request.url ?? "";
    requests.push({ path, host: request.headers.host ?? "", body: text });
    const known = request.headers.authorization === `token ${token}`;
    const { status, body } = known
      ? await answer(request.method ?? "", path, text === "" ? {} : JSON.parse(text)).catch((error: unknown) => ({
          status: 500,
          body: { message: String(error) },
        }))
      : { status: 401, body: { message: "Bad credentials" } };
    response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
  }

  await mkdir(root, { recursive: true });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => void server.close());
  return {
    pullRequests,
    details,
    requests,
    env: {
      loggedIn: await configureGh(
        join(root, "gh"),
        socketPath,
        `${fakeHost}:\n  oauth_token: ${token}\n  user: scripted\n`,
      ),
      loggedOut: await configureGh(join(root, "gh-out"), socketPath, ""),
    },
  };
}

async function configureGh(
  folder: string,
  socketPath: string,
  hosts: string,
): Promise<Readonly<Record<string, string>>> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "config.yml"), `http_unix_socket: ${socketPath}\n`);
  await writeFile(join(folder, "hosts.yml"), hosts);
  return { GH_CONFIG_DIR: folder };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const notFound: Answer = { status: 404, body: { message: "Not Found" } };
const invalid = (message: string) => ({
  message: "Validation Failed",
  errors: [{ resource: "PullRequest", code: "custom", message }],
});

const openSchema = z.object({
  head: z.string(),
  base: z.string(),
  title: z.string(),
  body: z.string(),
  draft: z.boolean(),
});
const mergeSchema = z.object({ sha: z.string(), merge_method: z.string() });
const graphSchema = z.object({
  query: z.string(),
  variables: z.object({
    owner: z.string(),
    name: z.string(),
    branch: z.string().optional(),
    number: z.int().optional(),
    after: z.string().nullish(),
  }),
});

const gitEnv = {
  PATH: process.env["PATH"] ?? "",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Forge",
  GIT_AUTHOR_EMAIL: "forge@example.invalid",
  GIT_COMMITTER_NAME: "Forge",
  GIT_COMMITTER_EMAIL: "forge@example.invalid",
};
