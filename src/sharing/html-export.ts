import { createHash } from "node:crypto";
import MarkdownIt from "markdown-it";
import type { Block, Turn } from "../wire/turn.ts";
import { documentStyle } from "./document-style.ts";
import type { ConversationFormat } from "./export-session.ts";
import { blocksOf } from "./markdown-export.ts";
import { inputText, purposeOf } from "./masked-turn.ts";

/**
 * The content security policy of a conversation's document: only its own style and embedded images. `sandbox` and `frame-ancestors` work only in a
 * header, which shared pages add.
 */
export const documentPolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(documentStyle).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'`;

// Raw HTML is shown as text. An image becomes a link to it.
const markdown = new MarkdownIt({ html: false, linkify: false, breaks: false }).disable(["image"]);
markdown.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url.trim());
markdown.renderer.rules["link_open"] = (tokens, at, options, _env, renderer) => {
  tokens[at]?.attrSet("rel", "noreferrer noopener nofollow");
  return renderer.renderToken(tokens, at, options);
};
// Headings in an answer do not become headings of the document.
markdown.renderer.rules["heading_open"] = (tokens, at) => `<p class="heading ${tokens[at]?.tag ?? ""}">`;
markdown.renderer.rules["heading_close"] = () => "</p>\n";

/** One HTML file without scripts and external files. */
export const htmlFormat: ConversationFormat = {
  images: true,
  head: ({ title, agent, sessionId, dir, createdAt, expiresAt }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${documentPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${escape(title ?? "Session")}</title>
<style>${documentStyle}</style>
</head>
<body>
<header>
<h1 dir="auto">${escape(title ?? "Session")}</h1>
<p class="facts">${[
    escape(agent),
    time(createdAt),
    ...(dir === null ? [] : [`<span class="mono">${escape(dir)}</span>`]),
    ...(expiresAt === null ? [`<span class="mono">${escape(sessionId)}</span>`] : []),
  ].join(" · ")}</p>
${expiresAt === null ? "" : `<p class="facts">Read-only link to one conversation. It expires on ${time(expiresAt)}. Reload the page to see later turns.</p>`}
</header>
<main>
`,
  turn: (turn, { agent }) => {
    const isUser = turn.role === "user";
    const facts = [...(turn.at === null ? [] : [time(turn.at)]), ...(turn.model === null ? [] : [escape(turn.model)])];
    return `<article id="turn-${turn.index}" class="${isUser ? "user" : "agent"}">
<h2>${isUser ? "Prompt" : escape(agent)} <a class="facts" href="#turn-${turn.index}">#${turn.index}</a> <span class="facts">${facts.join(" · ")}</span></h2>
${imagesOf(turn)}${filesOf(turn)}${blocksOf(turn)
  .map((block) => blockHtml(block, isUser))
  .join("\n")}${turn.interrupted === true ? `\n<p class="mark">Interrupted</p>` : ""}
</article>
`;
  },
  end: ({
    cutAt,
  }) => `${cutAt === null ? "" : `<p class="mark">The conversation is longer. It is cut off after turn ${cutAt}.</p>\n`}</main>
<footer class="facts">Exported from Postern. Text that looks like a secret is masked.</footer>
</body>
</html>
`,
};

function imagesOf({ images = [] }: Turn): string {
  return images
    .map(({ mediaType, data }) =>
      data === null
        ? `<p class="mark">An image is too large to be included.</p>\n`
        : `<img alt="Image in the prompt" src="data:${mediaType};base64,${/^[A-Za-z0-9+/=]*$/.test(data) ? data : ""}">\n`,
    )
    .join("");
}

/** Shows only their names. */
function filesOf({ attachments = [] }: Turn): string {
  return attachments.map(({ name }) => `<p class="mark">File: ${escape(name)}</p>\n`).join("");
}

function blockHtml(block: Block, isUser: boolean): string {
  if (block.type === "thinking") {
    return `<details><summary>Thinking</summary><pre dir="auto">${escape(block.text)}</pre></details>`;
  }
  if (block.type === "text") {
    if (isUser) return `<div class="prose plain" dir="auto">${escape(block.text)}</div>`;
    return `<div class="prose" dir="auto">${markdown.render(block.text)}</div>`;
  }
  const { result } = block;
  const state = result === null ? "no result" : result.ok ? "" : "failed";
  const purpose = purposeOf(block.input);
  const output =
    result === null || result.text === ""
      ? ""
      : `<pre class="output">${escape(result.text)}</pre>${result.truncated ? `<p class="mark">Cut off</p>` : ""}`;
  return `<details${state === "failed" ? ` class="failed"` : ""}><summary><b>${escape(block.name)}</b>${purpose === null ? "" : ` <code>${escape(purpose)}</code>`}${state === "" ? "" : ` <span class="state">${state}</span>`}</summary><pre>${escape(inputText(block.input))}</pre>${output}</details>`;
}

function time(iso: string): string {
  const text = Number.isNaN(Date.parse(iso))
    ? iso
    : `${new Date(iso).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `<time datetime="${escape(iso)}">${escape(text)}</time>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
