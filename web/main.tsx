import "./styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { App } from "./app/app.tsx";
import { giveStylesTheNonce } from "./style-nonce.ts";

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
