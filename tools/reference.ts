import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { renderClientOperations } from "./references/client.ts";
import { commandsReference } from "./references/commands.ts";
import { errorsReference } from "./references/errors.ts";
import { openApiDocument, renderHttpReference } from "./references/http.ts";
import { settingsReference } from "./references/settings.ts";
import { websocketReference } from "./references/websocket.ts";

// `node tools/reference.ts`: writes the generated pages of docs/reference, and the methods of the client package. `--check` writes nothing, and exits with
// 1 if one of them is out of date.

const root = resolve(import.meta.dirname, "..");
const document = await openApiDocument();
const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/reference/settings.md": settingsReference,
  "docs/reference/errors.md": errorsReference,
  "docs/reference/commands.md": commandsReference,
  "docs/reference/websocket.md": websocketReference,
  "docs/reference/http.md": () => renderHttpReference(document),
  "src/client/operations.ts": () => renderClientOperations(document),
};

for (const [name, make] of Object.entries(pages)) {
  const path = join(root, name);
  const text = await make();
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`${name} is not what the source says: run \`node tools/reference.ts\`.`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, text);
    console.log(`${name}: ${text.split("\n").length} lines`);
  }
}
