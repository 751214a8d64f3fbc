import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandsReference } from "./references/commands.ts";
import { errorsReference } from "./references/errors.ts";
import { httpReference } from "./references/http.ts";
import { settingsReference } from "./references/settings.ts";
import { websocketReference } from "./references/websocket.ts";

// `node tools/reference.ts`: writes the generated pages in docs/reference. `--check` writes nothing, and exits with
// 1 if one of them is out of date.

const folder = resolve(import.meta.dirname, "..", "docs", "reference");
const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  "settings.md": settingsReference,
  "errors.md": errorsReference,
  "commands.md": commandsReference,
  "websocket.md": websocketReference,
  "http.md": httpReference,
};

for (const [name, make] of Object.entries(pages)) {
  const path = join(folder, name);
  const text = await make();
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`docs/reference/${name} is not what the source says: run \`node tools/reference.ts\`.`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, text);
    console.log(`docs/reference/${name}: ${text.split("\n").length} lines`);
  }
}
