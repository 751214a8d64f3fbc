import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../accounts/index.ts";
import { hasCode } from "../core/errors.ts";
import type { ProblemCode } from "../wire/problem.ts";
import { isWrongKey } from "./deciding.ts";
import { type Html, type HtmlPart, html, mistakePage, passingPage, signInAndBack } from "./page-frame.ts";
import { toProblem } from "./problem-response.ts";

/**
 * Own files only, in no frame. No `form-action`: Chromium applies it to the redirect that answers a form, which leads to the client.
 * `same-origin` and not `no-referrer`: with the latter Chromium sends `Origin: null` with a form, and an honest decision would be refused.
 * No `Cross-Origin-Opener-Policy`: a client that opened this page in its own window gets the answer there.
 */
const pageHeaders = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
};

/** Sends a page that `pageOf` made. */
export function sendPage(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).headers(pageHeaders).type("text/html; charset=utf-8").send(page.markup);
}

/** Sends the browser on. Always 303: a 307 would hand the form, and the key in it, to the client (RFC 9700 section 4.12). */
export function sendTo(reply: FastifyReply, location: string): FastifyReply {
  return reply
    .code(303)
    .headers({ ...pageHeaders, location })
    .send();
}

/** Whether the client prefers a page to a problem document: browsers, and clients that do not say. */
export function prefersPage({ headers: { accept = "", authorization } }: FastifyRequest): boolean {
  if (accept.includes("text/html")) return true;
  return authorization === undefined && !accept.includes("json");
}

/** Leads to the sign-in, and from there back to `back`, a path of our own. */
export function askToSignIn(request: FastifyRequest, reply: FastifyReply, back: string): FastifyReply {
  // A strict cookie stays behind when a page of another site leads here. This page leads here too, and it is of this site.
  if (request.method === "GET" && request.headers["sec-fetch-site"] === "cross-site") {
    return sendPage(reply, 200, passingPage(back));
  }
  return sendTo(reply, signInAndBack(back));
}

/** The caller that decides; null when the browser was sent to the sign-in, or shown the way to it. Programs get an error. */
export async function deciderOrSignIn(
  decider: Promise<Principal>,
  { request, reply, back }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly back: string },
): Promise<Principal | null> {
  try {
    return await decider;
  } catch (error) {
    const { accept = "", authorization } = request.headers;
    const isPage = accept.includes("text/html") && authorization === undefined;
    if (isPage && isWrongKey(error)) {
      const detail = "The key of this browser’s sign-in is missing or not the right one.";
      const advice = html`Nothing was decided. <a href="${signInAndBack(back)}">Sign in again</a>, and you come back to the question.`;
      void sendPage(reply, 403, mistakePage({ title: "This browser has to sign in again", detail, advice }));
      return null;
    }
    if (!isPage || !hasCode(error, "unauthenticated")) throw error;
    void askToSignIn(request, reply, back);
    return null;
  }
}

/** An error as a page, for who reads pages. The rest leaves through the one place for all errors. */
export function answerMistake(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { problem, headers } = toProblem(error, request.id);
  if (problem.status >= 500 || !prefersPage(request)) throw error;
  const { title = problem.title, advice = html`Nothing was decided.` } = words[problem.code] ?? {};
  const page = mistakePage({ title, detail: problem.detail, advice });
  return sendPage(reply.headers(headers), problem.status, page);
}

const startAgain = html`Nothing was decided. If you want to let an app in, start again from it; you may have to <a href="/sign-in">sign in</a> first.`;

const words: Readonly<Partial<Record<ProblemCode, { readonly title: string; readonly advice: HtmlPart }>>> = {
  invalid_request: {
    title: "This request cannot be answered",
    advice:
      "Nothing was decided, and nobody was told. Start again from the app that led you here. If it happens again, its maker needs to know what stands above.",
  },
  unauthenticated: { title: "Not signed in", advice: startAgain },
  origin_not_allowed: { title: "This did not come from the gateway’s own page", advice: startAgain },
  insufficient_scope: {
    title: "This is not yours to give",
    advice: "Nothing was decided. An account gives only what it holds itself.",
  },
};

const missingPage = mistakePage({
  title: "No such page",
  detail: "There is nothing behind this address.",
  advice: html`<a href="/">Go to the sessions</a>, or see <a href="/docs">what this gateway answers</a>.`,
});

/** Answers a person who mistyped an address, or followed an old link, with a page; null for programs, which get a problem document. */
export function answerVisitor(request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  const { accept = "", authorization } = request.headers;
  const isVisit = request.method === "GET" && accept.includes("text/html") && authorization === undefined;
  return isVisit ? sendPage(reply, 404, missingPage) : null;
}
