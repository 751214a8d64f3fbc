import { graveScopes } from "../wire/access.ts";
import { decisionKeyField, scopeField } from "../wire/oauth.ts";

/**
 * The style sheet of server-rendered pages. Colours and fonts match the web application (`web/styles.css`; a test compares them), without
 * depending on its bundle.
 */
export const pageStyle = `
:root {
  --color-ground: light-dark(#f5f4ef, #111415);
  --color-panel: light-dark(#fdfcf9, #171b1c);
  --color-raised: light-dark(#ffffff, #1d2223);
  --color-well: light-dark(#eceae2, #0c0f10);
  --color-hover: light-dark(#ebe9e1, #1f2526);
  --color-line: light-dark(#dedbd0, #272d2e);
  --color-line-strong: light-dark(#b9b5a6, #434b4c);
  --color-ink: light-dark(#1b1f1d, #e7e5dd);
  --color-ink-soft: light-dark(#494e49, #b0b3ab);
  --color-ink-faint: light-dark(#64685f, #8f948c);
  --color-accent: light-dark(#12604f, #74c7b1);
  --color-accent-fill: light-dark(#17614f, #2c7765);
  --color-accent-fill-hover: light-dark(#104c3e, #307f6d);
  --color-accent-ink: light-dark(#ffffff, #ffffff);
  --color-lamp: light-dark(#8a4b00, #f2b75f);
  --color-lamp-fill: light-dark(#e0922f, #e9a94d);
  --color-lamp-soft: light-dark(#fbecd2, #2e230f);
  --color-danger: light-dark(#a12c22, #f2998d);
  --color-danger-soft: light-dark(#f9e4e0, #331a17);
  --font-sans: ui-sans-serif, system-ui, "Segoe UI Variable Text", "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --font-mono:
    ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  color-scheme: light dark;
}
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
*, ::before, ::after { box-sizing: border-box; margin: 0; padding: 0; }
[hidden] { display: none !important; }
body {
  min-height: 100dvh;
  display: flex;
  flex-direction: column;
  align-items: center;
  justify-content: safe center;
  padding: 2rem 1.25rem;
  background: var(--color-ground);
  color: var(--color-ink);
  font: 0.875rem/1.375rem var(--font-sans);
  overflow-wrap: anywhere;
  -webkit-text-size-adjust: 100%;
}
main { width: 100%; max-width: 29rem; display: flex; flex-direction: column; gap: 1.25rem; }
:focus-visible { outline: 2px solid var(--color-accent); outline-offset: 2px; }
::selection { background: light-dark(#bfe0d4, #245246); }
h1 { font-size: 1.5rem; line-height: 2rem; font-weight: 600; letter-spacing: -0.025em; text-wrap: balance; }
a { color: var(--color-accent); text-underline-offset: 2px; }
code { font-family: var(--font-mono); font-size: 0.9em; }
bdi { unicode-bidi: isolate; }
.mark { width: 3rem; height: 3rem; fill: none; stroke-width: 2; stroke-linecap: round; stroke: var(--color-ink); }
.mark .lamp { stroke: var(--color-lamp-fill); }
.mark .lamp-fill { fill: var(--color-lamp-fill); stroke: none; }
.lead { margin-top: 0.25rem; color: var(--color-ink-soft); }
.lead::first-letter { text-transform: uppercase; }
.faint { color: var(--color-ink-faint); font-size: 0.75rem; line-height: 1.125rem; }
.panel {
  display: flex;
  flex-direction: column;
  border: 1px solid var(--color-line);
  border-radius: 0.75rem;
  background: var(--color-panel);
  overflow: clip;
}
.padded { padding: 1.25rem; gap: 0.75rem; }
.facts > div { display: grid; grid-template-columns: 5.5rem 1fr; gap: 0.25rem 0.75rem; padding: 0.75rem 1rem; }
.facts > div + div { border-top: 1px solid var(--color-line); }
.facts.wide > div { grid-template-columns: 1fr; gap: 0; }
.facts > :target { background: var(--color-lamp-soft); }
.facts dt { color: var(--color-ink-faint); }
.facts strong { font-weight: 600; }
.facts .faint { display: block; }
.host { font-family: var(--font-mono); font-size: 0.8125rem; font-weight: 600; }
.notice { display: flex; gap: 0.625rem; padding: 0.5rem 0.75rem; border: 1px solid; border-radius: 0.5rem; }
.notice svg { flex: none; width: 1rem; height: 1rem; margin-top: 0.1875rem; fill: none; stroke: currentcolor;
  stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.lamp-notice { color: var(--color-lamp); background: var(--color-lamp-soft);
  border-color: color-mix(in srgb, var(--color-lamp-fill) 40%, transparent); }
.danger-notice { color: var(--color-danger); background: var(--color-danger-soft);
  border-color: color-mix(in srgb, var(--color-danger) 30%, transparent); }
form { display: flex; flex-direction: column; gap: 1.25rem; }
fieldset { border: 0; min-width: 0; }
legend {
  margin-bottom: 0.5rem;
  font-size: 0.6875rem;
  line-height: 1rem;
  font-weight: 600;
  letter-spacing: 0.06em;
  text-transform: uppercase;
  color: var(--color-ink-faint);
}
.scope { display: flex; gap: 0.75rem; padding: 0.75rem 1rem; cursor: pointer; }
.scope + .scope { border-top: 1px solid var(--color-line); }
.scope:hover { background: var(--color-hover); }
.scope input { flex: none; width: 1rem; height: 1rem; margin-top: 0.1875rem; accent-color: var(--color-accent-fill); }
.scope .text { min-width: 0; flex: 1; }
.scope .title { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 0.75rem; font-weight: 600; }
.scope .name { color: var(--color-ink-faint); font-size: 0.75rem; font-weight: 400; }
.scope .hint { color: var(--color-ink-soft); }
.scope.drive { background: var(--color-danger-soft); }
.scope.drive .title, .scope.drive .hint { color: var(--color-danger); }
.scope.drive .name { color: inherit; }
.buttons { display: grid; grid-template-columns: 1fr 1fr; gap: 0.75rem; }
.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  min-height: 2.5rem;
  padding: 0 1rem;
  border: 1px solid var(--color-line-strong);
  border-radius: 0.375rem;
  background: var(--color-raised);
  color: var(--color-ink);
  font: 500 0.875rem/1.25rem var(--font-sans);
  text-decoration: none;
  cursor: pointer;
}
.button:hover { background: var(--color-hover); }
.button.primary { border-color: transparent; background: var(--color-accent-fill); color: var(--color-accent-ink); }
.button.primary:hover { background: var(--color-accent-fill-hover); }
.button:disabled { cursor: not-allowed; opacity: 0.5; }
.field { display: flex; flex-direction: column; gap: 0.25rem; }
.field label { font-size: 0.75rem; font-weight: 500; color: var(--color-ink-soft); }
.field input {
  width: 100%;
  height: 3rem;
  padding: 0 0.75rem;
  border: 1px solid var(--color-line-strong);
  border-radius: 0.375rem;
  background: var(--color-raised);
  color: var(--color-ink);
  font: 500 1.25rem/1.5rem var(--font-mono);
  letter-spacing: 0.1em;
  text-transform: uppercase;
}
.field input[aria-invalid="true"] { border-color: var(--color-danger); }
.code {
  padding: 1rem;
  border-radius: 0.75rem;
  background: var(--color-well);
  font: 600 clamp(1.5rem, 8vw, 2.25rem)/1.25 var(--font-mono);
  letter-spacing: 0.08em;
  text-align: center;
}
@media (pointer: coarse) {
  .button { min-height: 2.75rem; }
}
@media (prefers-reduced-motion: no-preference) {
  .button, .scope { transition: background-color 120ms; }
}
`;

/** How long buttons are disabled after a page becomes visible, so that it cannot be placed under the second click of a double click. */
const calmMs = 500;

/**
 * The script of server-rendered pages, loaded before the first paint. It applies the theme and adds the browser's key to decision forms,
 * or redirects to the sign-in if there is no key.
 */
export const pageScript = `(() => {
  const stored = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // storage is switched off
    }
  };
  const theme = stored("postern.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

  addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("form[data-decision]");
    if (form === null) return;
    const key = stored("postern.key");
    if (key === null && form.dataset.needsKey === "true") {
      location.replace("/sign-in?to=" + encodeURIComponent(form.dataset.back));
      return;
    }
    if (key !== null) form.elements.namedItem(${JSON.stringify(decisionKeyField)}).value = key;
    const noKey = document.getElementById("no-key");
    if (key === null && noKey !== null) {
      noKey.hidden = false;
      for (const name of ${JSON.stringify(graveScopes.map(scopeField))}) {
        const box = form.elements.namedItem(name);
        if (box === null) continue;
        box.checked = false;
        box.disabled = true;
      }
    }
    const buttons = [...form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = false;

    let calmUntil = 0;
    const isCalm = () => performance.now() < calmUntil;
    const show = () => {
      for (const button of buttons) button.setAttribute("aria-disabled", String(isCalm()));
    };
    const calm = () => {
      calmUntil = performance.now() + ${calmMs};
      show();
      setTimeout(show, ${calmMs} + 20);
    };
    calm();
    addEventListener("focus", calm);
    addEventListener("pageshow", calm);
    document.addEventListener("visibilitychange", calm);

    const ticks = [...form.querySelectorAll("input[type=checkbox]")];
    const none = document.getElementById("none-ticked");
    const sent = document.getElementById("sent");
    const isEmpty = () => ticks.length > 0 && !ticks.some((tick) => tick.checked);
    form.addEventListener("change", () => {
      if (none !== null && !isEmpty()) none.hidden = true;
    });
    form.addEventListener("submit", (event) => {
      const allows = event.submitter?.value !== "deny";
      if (isCalm()) event.preventDefault();
      else if (allows && isEmpty()) {
        event.preventDefault();
        none.hidden = false;
      } else {
        calm();
        // Where the answer goes to a program, this page stays.
        setTimeout(() => (sent.hidden = false), 1500);
      }
    });
  });
})();
`;
