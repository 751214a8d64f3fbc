import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../accounts/index.ts";
import { hasCode } from "../core/errors.ts";
import type { ProblemCode } from "../wire/problem.ts";
import { isWrongKey } from "./deciding.ts";
import { type Html, type HtmlPart, html, mistakePage, passingPage, signInAndBack } from "./page-frame.ts";
import { toProblem } from "./problem-response.ts";

/**
 * Own files only, in no frame. No `form-action`: Chromium also applies it to the redirect after a form, which leads to the client.
 * `same-origin`, because with `no-referrer` Chromium sends `Origin: null` with a form, and a legitimate decision would be refused.
 * No `Cross-Origin-Opener-Policy`: a client that opened this page in its own window receives the answer in that window.
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

/** Redirects the browser. Always 303: a 307 would send the form and its key to the client (RFC 9700 section 4.12). */
export function sendTo(reply: FastifyReply, location: string): FastifyReply {
  return reply
    .code(303)
    .headers({ ...pageHeaders, location })
    .send();
}

/** Whether the client prefers a page to a problem document. */
export function prefersPage({ headers: { accept = "", authorization } }: FastifyRequest): boolean {
  if (accept.includes("text/html")) return true;
  return authorization === undefined && !accept.includes("json");
}

/** Redirects to the sign-in, which returns to the path `back`. */
export function askToSignIn(request: FastifyRequest, reply: FastifyReply, back: string): FastifyReply {
  // Browsers do not send strict cookies on navigation from another site. The page sent here reloads the path from our own site.
  if (request.method === "GET" && request.headers["sec-fetch-site"] === "cross-site") {
    return sendPage(reply, 200, passingPage(back));
  }
  return sendTo(reply, signInAndBack(back));
}

/** The caller that decides; null if the browser was asked to sign in. Programs get an error. */
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
      const detail = "This browser’s key is missing or wrong.";
      const advice = html`Nothing was decided. <a href="${signInAndBack(back)}">Sign in again</a> to return to the request.`;
      void sendPage(reply, 403, mistakePage({ title: "Sign in again", detail, advice }));
      return null;
    }
    if (!isPage || !hasCode(error, "unauthenticated")) throw error;
    void askToSignIn(request, reply, back);
    return null;
  }
}

/** Shows an error as a page in browsers. Other errors are passed on. */
export function answerMistake(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { problem, headers } = toProblem(error, request.id);
  if (problem.status >= 500 || !prefersPage(request)) throw error;
  const { title = problem.title, advice = html`Nothing was decided.` } = words[problem.code] ?? {};
  const page = mistakePage({ title, detail: problem.detail, advice });
  return sendPage(reply.headers(headers), problem.status, page);
}

const startAgain = html`Nothing was decided. To authorize an app, start again from the app. If necessary, <a href="/sign-in">sign in</a> first.`;

const words: Readonly<Partial<Record<ProblemCode, { readonly title: string; readonly advice: HtmlPart }>>> = {
  invalid_request: {
    title: "Invalid request",
    advice:
      "Nothing was decided. Start again from the app. If it happens again, send the message above to the app’s developer.",
  },
  unauthenticated: { title: "Not signed in", advice: startAgain },
  origin_not_allowed: { title: "Request from another page", advice: startAgain },
  insufficient_scope: {
    title: "Missing permission",
    advice: "Nothing was decided. You can only grant scopes that your account has.",
  },
};

const missingPage = mistakePage({
  title: "Page not found",
  detail: "This page does not exist.",
  advice: html`Go to <a href="/">sessions</a> or the <a href="/docs">API reference</a>.`,
});

/** Sends browsers a page for unknown addresses; null for programs, which get a problem document. */
export function answerVisitor(request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  const { accept = "", authorization } = request.headers;
  const isVisit = request.method === "GET" && accept.includes("text/html") && authorization === undefined;
  return isVisit ? sendPage(reply, 404, missingPage) : null;
}
