import { z } from "zod";
import { publishError } from "./errors.ts";
import type { Forge } from "./forge.ts";
import type { ForgeRepository } from "./forge-remote.ts";
import { type ApiAnswer, type GitHubApi, gitHubFailed, messageOfBody, noAccess } from "./github-api.ts";
import {
  checksQuery,
  checksSchema,
  findQuery,
  foundSchema,
  type GitHubRollup,
  readQuery,
  readSchema,
  toPullRequest,
} from "./github-pull-request.ts";

const maxPages = 2; // of 100 checks

/** A repository on GitHub. */
export function createGitHub(api: GitHubApi, { host, path }: ForgeRepository): Forge {
  const [owner = "", name = ""] = path.split("/");
  const place = { owner, name };
  const rest = `repos/${owner}/${name}/pulls`;

  function failed({ status, body }: ApiAnswer) {
    return status === 404 ? noAccess(host) : gitHubFailed(host, messageOfBody(body));
  }

  return {
    kind: "github",
    host,
    repository: path,

    async find({ forkOf, branch, commit }) {
      const { pullRequests } = await api.query(foundSchema, findQuery, { ...place, branch });
      const own = pullRequests.filter(({ isCrossRepository, headRepositoryOwner }) =>
        forkOf === null ? !isCrossRepository : headRepositoryOwner?.login.toLowerCase() === forkOf.toLowerCase(),
      );
      const open = own.find(({ state }) => state === "OPEN");
      // The name of a branch can be used again for other work.
      const ended = own.find(({ commits }) => commits.some(({ commit: { oid } }) => oid === commit));
      return (open ?? ended)?.number ?? null;
    },

    async read(number) {
      const { pullRequest } = await api.query(readSchema, readQuery, { ...place, number, after: null });
      return toPullRequest(pullRequest, await allChecks(pullRequest.commits, number));
    },

    async open({ forkOf, branch }, { title, body, draft, base }) {
      const head = forkOf === null ? branch : `${forkOf}:${branch}`;
      const answer = await api.rest("POST", rest, { title, body, draft, base, head });
      if (answer.status === 201) return createdSchema.parse(answer.body).number;
      const message = messageOfBody(answer.body);
      if (answer.status === 422 && /already exists/.test(message)) throw publishError("pull_request_exists", message);
      throw failed(answer);
    },

    async merge(number, { method, headCommit }) {
      const answer = await api.rest("PUT", `${rest}/${number}/merge`, { merge_method: method, sha: headCommit });
      if (answer.status === 200) return;
      const message = messageOfBody(answer.body).slice(0, 500);
      if (answer.status === 409) {
        throw publishError(
          "pull_request_changed",
          `${host} did not merge #${number}: ${message}. Read it again first.`,
        );
      }
      if (answer.status === 405 || answer.status === 422) {
        throw publishError("merge_rejected", `${host} did not merge #${number}: ${message}`);
      }
      throw failed(answer);
    },
  };

  async function allChecks(first: GitHubRollup, number: number): Promise<GitHubRollup> {
    let rollup = first;
    let page = rollup?.contexts.pageInfo;
    for (let pages = 1; pages < maxPages && page?.hasNextPage === true; pages++) {
      const next = await api.query(checksSchema, checksQuery, { ...place, number, after: page.endCursor });
      const more = next.pullRequest.commits;
      if (rollup === null || more === null) return rollup;
      page = more.contexts.pageInfo;
      rollup = { ...rollup, contexts: { pageInfo: page, nodes: [...rollup.contexts.nodes, ...more.contexts.nodes] } };
    }
    return rollup;
  }
}

const createdSchema = z.object({ number: z.int() });
