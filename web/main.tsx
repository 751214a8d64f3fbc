import "./styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { App } from "./app/app.tsx";

// The page's policy forbids code that is made at run time, which zod would try.
z.config({ jitless: true });
giveStylesTheNonce();

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element #root.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

/**
 * The page may only be styled by its own files and by what carries the page's nonce. The terminal and the dialogs' scroll lock put
 * `<style>` elements of their own into the page; here they get the nonce. What is pasted into the page as HTML does not.
 */
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
