import { join, resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { InlineConfig } from "vite";

const root = resolve(import.meta.dirname, "..");

/** How Vite sees `web/`, in a build and while developing. */
export const webConfig = {
  configFile: false,
  root: join(root, "web"),
  cacheDir: join(root, "node_modules/.vite"),
  plugins: [react(), tailwindcss()],
} as const satisfies InlineConfig;
