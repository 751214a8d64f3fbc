import type { FastifyReply, FastifyRequest } from "fastify";
import { html } from "./html.ts";
import { sendPage } from "./page-answers.ts";
import { mistakePage } from "./page-frame.ts";

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
