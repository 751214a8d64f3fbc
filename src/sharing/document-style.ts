/** The style of exported and shared conversations, in the colours of the web application. */
export const documentStyle = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f5f4ef, #111415);
  --panel: light-dark(#fdfcf9, #171b1c);
  --well: light-dark(#eceae2, #0c0f10);
  --line: light-dark(#dedbd0, #272d2e);
  --ink: light-dark(#1b1f1d, #e7e5dd);
  --faint: light-dark(#64685f, #8f948c);
  --accent: light-dark(#12604f, #74c7b1);
  --danger: light-dark(#a12c22, #f2998d);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
*, ::before, ::after { box-sizing: border-box; }
body {
  max-width: 760px; margin: 0 auto; padding: 2rem 1.25rem 3rem;
  background: var(--ground); color: var(--ink);
  font: 0.9375rem/1.6 ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  overflow-wrap: anywhere; -webkit-text-size-adjust: 100%;
}
h1 { margin: 0 0 0.25rem; font-size: 1.5rem; line-height: 1.3; font-weight: 600; letter-spacing: -0.02em; text-wrap: balance; }
h2 { margin: 0 0 0.375rem; font-size: 0.8125rem; font-weight: 600; }
.facts { margin: 0; color: var(--faint); font-size: 0.75rem; font-weight: 400; text-decoration: none; }
.mono, code, pre { font-family: var(--mono); font-size: 0.8125rem; }
header { padding-bottom: 1.25rem; border-bottom: 1px solid var(--line); }
article { padding: 1.25rem 0; scroll-margin-top: 1rem; }
article.user .prose { padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 0.75rem; background: var(--panel); }
article:target { outline: 2px solid var(--accent); outline-offset: 0.5rem; border-radius: 0.5rem; }
.plain { white-space: pre-wrap; }
.prose > :first-child { margin-top: 0; }
.prose > :last-child { margin-bottom: 0; }
.heading { font-weight: 600; }
a { color: var(--accent); }
code { padding: 0.1em 0.3em; border-radius: 0.25rem; background: var(--well); }
pre { margin: 0.5rem 0; padding: 0.75rem 1rem; border-radius: 0.5rem; background: var(--well); line-height: 1.5;
  white-space: pre-wrap; max-height: 32rem; overflow: auto; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; }
th, td { padding: 0.25rem 0.75rem; border: 1px solid var(--line); text-align: left; }
blockquote { margin: 0.75rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--faint); }
img { display: block; max-width: 100%; max-height: 30rem; margin: 0.5rem 0; border-radius: 0.5rem; border: 1px solid var(--line); }
details { margin: 0.5rem 0; padding: 0.375rem 0.75rem; border: 1px solid var(--line); border-radius: 0.5rem; background: var(--panel); }
summary { cursor: pointer; font-size: 0.8125rem; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.failed summary, .state { color: var(--danger); }
.mark { color: var(--faint); font-size: 0.8125rem; font-style: italic; }
footer { padding-top: 1.25rem; border-top: 1px solid var(--line); }
@media print { pre { max-height: none; } body { max-width: none; } }
`;
