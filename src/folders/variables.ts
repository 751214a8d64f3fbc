import { PosternError } from "../core/errors.ts";
import { variableNameSchema } from "../wire/folder-profiles.ts";

/** Why a variable cannot be set, by its name or the start of its name. */
const refused: readonly { readonly names: readonly string[]; readonly reason: string }[] = [
  { names: ["POSTERN_*"], reason: "Postern sets it for its own hooks" },
  { names: ["LD_*", "DYLD_*", "GCONV_PATH"], reason: "the system's loader could run other code in Postern's hooks" },
  { names: ["NODE_OPTIONS", "NODE_PATH", "NODE_REPL_*"], reason: "Node could run other code in Postern's hooks" },
  {
    names: ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "IFS", "PS4", "PROMPT_COMMAND"],
    reason: "shells read it before they run Postern's hooks",
  },
  { names: ["HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD"], reason: "it describes the user of the gateway" },
  { names: ["TERM", "COLORTERM", "COLUMNS", "LINES"], reason: "the terminal sets it" },
  { names: ["VISUAL", "EDITOR"], reason: "Postern sends long prompts with it" },
];

/** The store and the kernel can easily hold this. Longer values belong in files. */
const maxTotalBytes = 131_072;

/** @throws PosternError `invalid_request` with the reason why a variable cannot be set */
export function checkVariables(
  env: Readonly<Record<string, string>>,
  { movesAgents, max }: { readonly movesAgents: (name: string) => boolean; readonly max: number },
): void {
  const names = Object.keys(env);
  if (names.length > max) throw new PosternError("invalid_request", `A profile has at most ${max} variables.`);
  for (const name of names) {
    if (!variableNameSchema.safeParse(name).success) {
      const message = `${JSON.stringify(name)} is not a name for a variable. Use letters, digits and \`_\`.`;
      throw new PosternError("invalid_request", message);
    }
    const reason = reasonAgainst(name) ?? (movesAgents(name) ? movingReason : null);
    if (reason !== null) throw new PosternError("invalid_request", `The variable ${name} cannot be set: ${reason}.`);
  }
  const sizeBytes = Object.entries(env).reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
  if (sizeBytes > maxTotalBytes) {
    throw new PosternError("invalid_request", "The variables are too large in total. Put long values into a file.");
  }
}

const movingReason = "it moves the agent's transcripts, so that Postern cannot find them";

function reasonAgainst(name: string): string | null {
  const found = refused.find(({ names }) =>
    names.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one)),
  );
  return found?.reason ?? null;
}
