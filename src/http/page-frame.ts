/** Where the files of these pages are. */
export const pageFiles = { style: "/oauth/page.css", script: "/oauth/page.js" } as const;

/** A whole page around its content. */
export function pageOf(title: string, content: HtmlPart, head: HtmlPart = null): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>${title} · Postern</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="${pageFiles.style}" />
    <script src="${pageFiles.script}"></script>${head}
  </head>
  <body>
    <main>
      ${mark}
      ${content}
    </main>
  </body>
</html>
`;
}

/** The web application's mark. */
const mark = html`<svg class="mark" aria-hidden="true" viewBox="0 0 24 24">
        <path d="M4.5 21.5V10a7.5 7.5 0 0 1 15 0v11.5M1.5 21.5h21" />
        <circle class="lamp-fill" cx="12" cy="11.5" r="2" />
        <path class="lamp" d="M12 13v4.5" />
      </svg>`;

const warningSign = html`<svg aria-hidden="true" viewBox="0 0 24 24"><path d="M12 3 2 20h20zM12 10v4m0 3v.01" /></svg>`;

/** Something to heed. `id` and `hidden` for what the page's script shows later. */
export function notice(
  tone: "lamp" | "danger",
  content: HtmlPart,
  { id, hidden = false }: { readonly id?: string; readonly hidden?: boolean } = {},
): Html {
  const name = id === undefined ? null : html` id="${id}"`;
  const role = tone === "danger" ? html` role="alert"` : null;
  return html`<div class="notice ${tone}-notice"${name}${role}${hidden ? " hidden" : null}>${warningSign}<div>${content}</div></div>`;
}

/** What a stranger wrote, isolated so that its direction turns nothing around it. */
export function claimed(text: string, max?: number): Html {
  return html`<bdi>${claimedText(text, max)}</bdi>`;
}

/** A mistake that cannot be reported to the client, so the browser is not redirected. */
export function mistakePage(mistake: {
  readonly title: string;
  readonly detail: string;
  /** What to do about it. */
  readonly advice: HtmlPart;
}): Html {
  const { title, detail, advice } = mistake;
  return pageOf(
    title,
    html`<div>
        <h1>${title}</h1>
        <p class="lead">${claimed(detail, 400)}</p>
      </div>
      <div class="panel padded">
        <p>${advice}</p>
      </div>`,
  );
}

/** An address that is longer is not come back to: a request's head ends at 16 KiB, and encoding makes it longer. */
const maxReturnLength = 8_000;

/** The sign-in, which leads back to `back`, a path of our own. */
export function signInAndBack(back: string): string {
  return back.length > maxReturnLength ? "/sign-in" : `/sign-in?to=${encodeURIComponent(back)}`;
}

/** A page that loads `path` itself: then the request is one of our own page, and the browser sends its strict cookie with it. */
export function passingPage(path: string): Html {
  return pageOf(
    "One moment",
    html`<p><a href="${path}">Go on</a></p>`,
    html`
    <meta http-equiv="refresh" content="0;url=${path}" />`,
  );
}

/** Markup; what comes from outside was escaped on its way into it. Made by {@link html} alone. */
export interface Html {
  readonly markup: string;
}

/** What may stand in a place of {@link html}: text is escaped, null is nothing. */
export type HtmlPart = Html | string | null | readonly HtmlPart[];

/** Markup with places. They stand in text and in quoted attributes, never in a script, a style or an attribute's name. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return { markup: strings.map((string, index) => string + textOf(parts[index] ?? null)).join("") };
}

function textOf(part: HtmlPart): string {
  if (part === null) return "";
  if (typeof part === "string") return escapeHtml(part);
  return "markup" in part ? part.markup : part.map(textOf).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** A stranger's name for itself is read at a glance: this many letters, as people count them. */
const maxLetters = 60;

/** More of it is not even looked at. */
const maxLength = 2_000;

/** Controls, marks that turn the direction of what follows, and invisible characters. U+2800 is a blank that counts as a sign. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]+/gu;

/** Piles of accents, which would climb over the lines above. */
const accents = /(\p{M}{2})\p{M}+/gu;

/** Alphabets with letters that look like Latin ones. */
const lookAlikes = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u;

const latin = /\p{Script=Latin}/u;

/**
 * Text that a stranger chose, such as a client's name, made fit to be shown in one line: without what is unseen, and short.
 * It still has to be isolated (`<bdi>`), because its letters may run from right to left.
 */
export function claimedText(text: string, max = maxLetters): string {
  const plain = text
    .slice(0, maxLength)
    .normalize("NFC")
    .replace(/\s+/gu, " ")
    .replace(unseen, "")
    .replace(accents, "$1")
    .trim();
  const letters = Array.from(new Intl.Segmenter().segment(plain), ({ segment }) => segment);
  return letters.length <= max
    ? plain
    : `${letters
        .slice(0, max - 1)
        .join("")
        .trimEnd()}…`;
}

/** Whether a word mixes Latin letters with look-alikes: only a name that imitates another does. */
export function mixesAlphabets(text: string): boolean {
  return text.split(/[^\p{L}\p{M}]+/u).some((word) => latin.test(word) && lookAlikes.test(word));
}
