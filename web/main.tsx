import "./styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { App } from "./app/app.tsx";

// zod's generated code is forbidden by the page's content security policy.
z.config({ jitless: true });
giveStylesTheNonce();

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element #root.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

/** The policy allows only styles with the page's nonce: add it to `<style>` elements of the terminal and of the dialogs. */
function giveStylesTheNonce(): void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
  if (nonce === "") return;
  const create = document.createElement.bind(document);
  Object.defineProperty(document, "createElement", {
    configurable: true,
    writable: true,
    value: (name: string, options?: ElementCreationOptions) => {
      const element = create(name, options);
      if (element instanceof HTMLStyleElement) element.nonce = nonce;
      return element;
    },
  });
}
