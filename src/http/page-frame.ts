/** Paths of the style sheet and script. */
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

/** A notice. `id` and `hidden` are for notices that the page's script shows later. */
export function notice(
  tone: "lamp" | "danger",
  content: HtmlPart,
  { id, hidden = false }: { readonly id?: string; readonly hidden?: boolean } = {},
): Html {
  const name = id === undefined ? null : html` id="${id}"`;
  const role = tone === "danger" ? html` role="alert"` : null;
  return html`<div class="notice ${tone}-notice"${name}${role}${hidden ? " hidden" : null}>${warningSign}<div>${content}</div></div>`;
}

/** Untrusted text, isolated so that its direction does not affect the text around it. */
export function claimed(text: string, max?: number): Html {
  return html`<bdi>${claimedText(text, max)}</bdi>`;
}

/** An error that cannot be reported to the client by redirect. */
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

/** A sign-in does not return to longer paths: a request's header is limited to 16 KiB, and encoding makes the path longer. */
const maxReturnLength = 8_000;

/** The sign-in page that returns to the path `back`. */
export function signInAndBack(back: string): string {
  return back.length > maxReturnLength ? "/sign-in" : `/sign-in?to=${encodeURIComponent(back)}`;
}

/** A page that loads `path` from our own site, so that the browser sends its strict cookie. */
export function passingPage(path: string): Html {
  return pageOf(
    "One moment",
    html`<p><a href="${path}">Continue</a></p>`,
    html`
    <meta http-equiv="refresh" content="0;url=${path}" />`,
  );
}

/** Escaped markup, created only by {@link html}. */
export interface Html {
  readonly markup: string;
}

/** A value in {@link html}: text is escaped, null is empty. */
export type HtmlPart = Html | string | null | readonly HtmlPart[];

/** A markup template. Values can be in text and quoted attributes, never in scripts, styles or attribute names. */
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

/** Maximum length of an untrusted name, in graphemes. */
const maxLetters = 60;

/** Longer text is cut before it is processed. */
const maxLength = 2_000;

/** Control, direction and invisible characters. U+2800 is a blank symbol. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]+/gu;

/** Stacked accents, which would cover the lines above. */
const accents = /(\p{M}{2})\p{M}+/gu;

/** Scripts with letters that look like Latin ones. */
const lookAlikes = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u;

const latin = /\p{Script=Latin}/u;

/**
 * Untrusted text, such as a client's name, cleaned for one line: short and without invisible characters.
 * It must still be isolated (`<bdi>`), because it can contain right-to-left text.
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

/** Whether a word mixes Latin letters with look-alikes, which indicates an imitation. */
export function mixesAlphabets(text: string): boolean {
  return text.split(/[^\p{L}\p{M}]+/u).some((word) => latin.test(word) && lookAlikes.test(word));
}
