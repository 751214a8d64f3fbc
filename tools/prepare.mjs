// After `npm ci`: builds the web application, so that `npm start` has its pages. Without the development dependencies
// (`npm ci --omit=dev`) there is nothing to build it with, and nothing to say about it.
import { existsSync } from "node:fs";
import { join } from "node:path";

if (existsSync(join(import.meta.dirname, "../node_modules/vite"))) await import("./build-web.ts");
