import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Accounts, Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { hasCode, messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Fork, ShareCreator, Sharing } from "../sharing/index.ts";
import type { AuditAction } from "../wire/accounts.ts";
import { forkSessionOutputSchema, forkSessionSchema } from "../wire/forks.ts";
import {
  createdShareSchema,
  type ExportFormat,
  exportQuerySchema,
  type Share,
  shareInputSchema,
  shareListSchema,
} from "../wire/sharing.ts";
import { textSchema } from "../wire/text.ts";
import { beginStream, writePiece } from "./answers.ts";
import { prefersPage, sendPage } from "./page-answers.ts";
import { mistakePage } from "./page-frame.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

export interface SharingRoutesDeps {
  readonly sharing: Sharing;
  readonly fork: Fork;
  readonly audit: Accounts["audit"];
  baseUrl(): string;
  readonly log: Log;
  readonly clock?: Clock;
}

// A client that reads nothing for this long is disconnected.
const stuckMs = 60_000;
// Each export holds a few turns in memory. Separate limits keep anonymous readers from blocking callers.
const maxExports = 8;
const maxOpenPages = 8;

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });
const shareParams = z.strictObject({ sessionId: textSchema(200), shareId: textSchema(100) });

const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  markdown: "text/markdown; charset=utf-8",
  json: "application/json; charset=utf-8",
  html: "text/html; charset=utf-8",
};
const endings: Readonly<Record<ExportFormat, string>> = { markdown: "md", json: "json", html: "html" };

const exportDescription = `Everything that looks like a secret is masked, as in memory. In Markdown, text of the transcript cannot become a heading, a link or
an image. HTML is one file without scripts, and its content security policy forbids all requests; images of prompts are embedded. JSON is an object with
\`session\` and \`turns\`.`;

const shareDescription = `Anyone with the link can read the conversation as it is when they open it, including later turns, without an account, until it expires or
is revoked. They see no terminal and cannot send anything. Secrets are masked as in memory; images of prompts are shown as they are. The link stops working
when its creator loses access to the session or the scope, when the token or app that created it is revoked, or when the session is forgotten.`;

const forkDescription = `The new session's first prompt has the conversation attached as a file, up to \`turn\`, with secrets masked as in an export. So a fork
works from every turn and between all agents. In another directory or worktree, the session's changes are attached as a patch. The old session does not
change. Also needs \`coding:read\`. Errors: the same as for \`coding_ask\`.`;

/** Export of a session, forks of it, links to it, and the page behind a link. */
export function sharingRoutes(deps: SharingRoutesDeps): RouteModule {
  return (server) => {
    addExportRoute(server, deps);
    addForkRoute(server, deps);
    addShareRoutes(server, deps);
    addPageRoute(server, deps);
  };
}

function addExportRoute({ app, principalOf, signalOf }: RouteServer, deps: SharingRoutesDeps): void {
  const { sharing } = deps;
  const gate = createLimit(maxExports);
  app.route({
    method: "GET",
    url: "/api/coding/sessions/:sessionId/export",
    config: { access: "coding:read" },
    schema: {
      operationId: "exportSession",
      tags,
      summary: "Returns a session's conversation as a document.",
      description: exportDescription,
      params,
      querystring: exportQuerySchema,
      answerType: "text/markdown",
      response: { 200: z.string() },
    },
    handler: (request, reply) =>
      gate(async () => {
        const { sessionId } = request.params;
        const { format } = request.query;
        const signal = signalOf(reply);
        const pieces = await sharing.export(sessionId, format, { caller: principalOf(request), signal });
        const first = await pieces.next(); // earlier errors can still set a status
        // Never shown in the gateway's origin.
        const name = `session-${sessionId.replace(/[^\w-]/g, "").slice(0, 40)}.${endings[format]}`;
        void reply.header("content-disposition", `attachment; filename="${name}"`);
        await sendPieces(first.value ?? "", pieces, { request, reply, signal, type: mediaTypes[format], deps });
      }),
  });
}

function addForkRoute({ app, principalOf, signalOf }: RouteServer, { fork }: SharingRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/coding/sessions/:sessionId/fork",
    config: { access: "coding:write" },
    schema: {
      operationId: "forkSession",
      tags,
      summary: "Starts a new session that continues a session's work, with any agent.",
      description: forkDescription,
      params,
      body: forkSessionSchema,
      response: { 200: forkSessionOutputSchema },
    },
    handler: (request, reply) => fork({ ...request.params, ...request.body }, principalOf(request), signalOf(reply)),
  });
}

function addShareRoutes(server: RouteServer, { sharing, audit, baseUrl }: SharingRoutesDeps): void {
  const { app, principalOf, signalOf, originOf } = server;

  function noteAs(action: AuditAction, request: FastifyRequest) {
    const { accountId } = principalOf(request);
    return ({ shareId, sessionId, expiresAt }: Share, within: Parameters<Accounts["audit"]["note"]>[1]) =>
      audit.note(
        { action, accountId, subject: shareId, details: { session: sessionId, expiresAt }, from: originOf(request) },
        within,
      );
  }

  app.route({
    method: "POST",
    url: "/api/coding/sessions/:sessionId/share",
    config: { access: "coding:read" },
    schema: {
      operationId: "shareSession",
      tags,
      summary: "Creates a read-only link to a session's conversation.",
      description: shareDescription,
      params,
      body: shareInputSchema,
      response: { 201: createdShareSchema },
    },
    handler: async (request, reply) => {
      const { secret, share } = await sharing.create(request.params.sessionId, request.body.expiresIn * 1_000, {
        creator: creatorOf(principalOf(request)),
        signal: signalOf(reply),
        note: noteAs("share_created", request),
      });
      return reply.code(201).send({ ...share, url: new URL(`/share/${secret}`, baseUrl()).href });
    },
  });

  app.route({
    method: "GET",
    url: "/api/coding/sessions/:sessionId/shares",
    config: { access: "coding:read" },
    schema: {
      operationId: "listShares",
      tags,
      summary: "Lists your active links to a session.",
      params,
      response: { 200: shareListSchema },
    },
    handler: async (request, reply) => ({
      shares: [
        ...(await sharing.list(request.params.sessionId, { caller: principalOf(request), signal: signalOf(reply) })),
      ],
    }),
  });

  app.route({
    method: "DELETE",
    url: "/api/coding/sessions/:sessionId/shares/:shareId",
    config: { access: "coding:read" },
    schema: {
      operationId: "revokeShare",
      tags,
      summary: "Revokes a link. It stops working immediately.",
      params: shareParams,
      response: { 204: z.null() },
    },
    handler: async (request, reply) => {
      const caller: Principal = principalOf(request);
      const { sessionId, shareId } = request.params;
      const shares = await sharing.list(sessionId, { caller, signal: signalOf(reply) });
      // A folder-limited caller can see this session, but perhaps not the session that the link belongs to.
      if (!shares.some((share) => share.shareId === shareId)) throw new PosternError("share_not_found", goneDetail);
      await sharing.revoke(caller.accountId, shareId, noteAs("share_revoked", request));
      return reply.code(204).send(null);
    },
  });
}

/** An issuer's token cannot be looked up again, so the links that it creates end when it expires, at the latest. */
function creatorOf({ kind, accountId, scopes, folders, tokenId, app, expiresAt }: Principal): ShareCreator {
  const until = kind === "jwt" ? expiresAt : null;
  return { accountId, scopes, folders, tokenId: kind === "token" ? tokenId : null, app, until };
}

/** The header repeats the document's own policy, which allows the style by its hash. */
function pagePolicy(policy: string): string {
  return `${policy}; frame-ancestors 'none'; sandbox allow-popups allow-popups-to-escape-sandbox`;
}

const goneDetail = "This link does not exist, has expired, or was revoked.";

function addPageRoute({ app, checkFailures, originOf }: RouteServer, deps: SharingRoutesDeps): void {
  const { sharing, audit } = deps;
  const gate = createLimit(maxOpenPages);
  app.route({
    method: "GET",
    url: "/share/:secret",
    config: { access: "public", limit: "share" },
    schema: { hide: true, params: z.strictObject({ secret: z.string().max(200) }) },
    handler: (request, reply) =>
      gate(async () => {
        const gone = new AbortController();
        reply.raw.once("close", () => gone.abort());
        void reply.headers({ "x-robots-tag": "noindex, nofollow", "referrer-policy": "no-referrer" });
        try {
          const { pieces, policy, share, isFirst } = await sharing.open(request.params.secret, gone.signal);
          if (isFirst) {
            await audit.note({
              action: "share_opened",
              accountId: null,
              subject: share.shareId,
              details: { session: share.sessionId },
              from: originOf(request),
            });
          }
          const first = await pieces.next();
          void reply.headers({ "content-security-policy": pagePolicy(policy), "x-frame-options": "DENY" });
          const type = mediaTypes.html;
          await sendPieces(first.value ?? "", pieces, { request, reply, signal: gone.signal, type, deps });
        } catch (error) {
          if (!hasCode(error, "share_not_found") || reply.raw.headersSent) throw error;
          checkFailures(request);
          if (!prefersPage(request)) throw error;
          const advice = "Ask the person who sent it for a new one.";
          return sendPage(reply, 404, mistakePage({ title: "Link not available", detail: goneDetail, advice }));
        }
        return reply;
      }),
  });
}

async function sendPieces(
  first: string,
  rest: AsyncGenerator<string, void>,
  {
    request,
    reply,
    signal,
    type,
    deps,
  }: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly signal: AbortSignal;
    readonly type: string;
    readonly deps: SharingRoutesDeps;
  },
): Promise<void> {
  const reading = { signal, clock: deps.clock ?? systemClock, stuckMs };
  const raw = beginStream(reply, type);
  try {
    if (await writePiece(raw, first, reading)) {
      for await (const text of rest) if (!(await writePiece(raw, text, reading))) break;
    }
    if (signal.aborted) raw.destroy();
    else raw.end();
  } catch (error) {
    // Cut off, so that the client notices that it is incomplete. A link can end while its page is read.
    if (!hasCode(error, "share_not_found"))
      deps.log.warn({ requestId: request.id, reason: messageOf(error) }, "export failed");
    raw.destroy();
  } finally {
    await rest.return();
  }
}

/** @throws PosternError `rate_limited` if more than `max` tasks run at once */
function createLimit(max: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  return async (task) => {
    if (running >= max) {
      throw new PosternError("rate_limited", `The maximum of ${max} documents is being read. Try again in a moment.`);
    }
    running += 1;
    try {
      return await task();
    } finally {
      running -= 1;
    }
  };
}
