import { decisionKeyField, scopeField } from "../wire/oauth.ts";

/** How long the buttons stay deaf after a page came into view: a page may be slid under the second half of a double click. */
const calmMs = 500;

/**
 * The script of the pages that the server renders, loaded before the first paint: the chosen appearance; into a form of a decision the
 * key of the browser's sign-in, or to the sign-in and back where there is none.
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
      const drive = form.elements.namedItem(${JSON.stringify(scopeField("coding:drive"))});
      drive.checked = false;
      drive.disabled = true;
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
