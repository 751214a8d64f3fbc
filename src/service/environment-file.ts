import { PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { readOrNull } from "./run-manager.ts";

const head = `# Variables of the gateway that runs as a service, such as ANTHROPIC_API_KEY="…". Read at each start.\n`;

/**
 * Makes the file (0600), or puts these variables into it and leaves the others alone.
 * @throws PosternError `usage` for a value that such a file cannot hold
 */
export async function keepVariables(path: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const before = (await readOrNull(path)) ?? head;
  const kept = before.split("\n").filter((line) => !Object.keys(variables).some((name) => line.startsWith(`${name}=`)));
  const lines = Object.entries(variables).map(([name, value]) => {
    if (!/["\n\r]/.test(value)) return `${name}="${value}"`;
    throw new PosternError("usage", `The value of ${name} has a quote or a line end, which ${path} cannot hold.`);
  });
  const text = `${[kept.join("\n").trimEnd(), ...lines].join("\n")}\n`;
  if (text !== before) await writeFileAtomic(path, text);
}
