import { join, resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { InlineConfig } from "vite";

const root = resolve(import.meta.dirname, "..");

/** Vite's configuration of `web/`, for builds and development. */
export const webConfig = {
  configFile: false,
  root: join(root, "web"),
  cacheDir: join(root, "node_modules/.vite"),
  plugins: [react(), tailwindcss()],
} as const satisfies InlineConfig;
