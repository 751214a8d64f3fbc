/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  readonly keyword: string;
  readonly text: string;
}

/** What stands between one `FROM` and the next. */
export interface Stage {
  readonly base: string;
  /** What `COPY --from` calls it; null for one without a name. */
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

/** What an image says of the containers made from it. */
export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  readonly volumes: readonly string[];
  readonly stopSignal: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** The command of HEALTHCHECK; null without one. */
  readonly healthcheck: readonly string[] | null;
}

/**
 * Reads the Dockerfile of this repository, and others that keep to what it uses: no ARG, no heredocs, no variables in instructions.
 * @throws Error for an instruction outside of a stage
 */
export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { base: string; name: string | null; instructions: Instruction[] }[] = [];
  const whole = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\s*\\\n\s*/g, " ");
  for (const line of whole.split("\n").filter((each) => each.trim() !== "")) {
    const [, keyword = "", rest = ""] = /^\s*(\S+)\s+(.*?)\s*$/.exec(line) ?? [];
    if (keyword.toUpperCase() === "FROM") {
      const [, base = "", name = null] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(rest) ?? [];
      stages.push({ base, name, instructions: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (stage === undefined) throw new Error(`This stands before the first FROM: ${line}`);
    stage.instructions.push({ keyword: keyword.toUpperCase(), text: rest });
  }
  return stages;
}

/** What a stage's instructions say of containers, over what its base says. */
export function imageConfig({ instructions }: Stage, baseEnv: Readonly<Record<string, string>> = {}): ImageConfig {
  const last = (keyword: string): string | null =>
    instructions.findLast((instruction) => instruction.keyword === keyword)?.text ?? null;
  const healthcheck = /\bCMD\s+(\[.*\])$/.exec(last("HEALTHCHECK") ?? "")?.[1];
  return {
    env: instructions
      .filter(({ keyword }) => keyword === "ENV")
      .reduce((env, instruction) => ({ ...env, ...variablesOf(instruction) }), baseEnv),
    user: last("USER") ?? "root",
    workdir: last("WORKDIR") ?? "/",
    volumes: wordsOf(last("VOLUME")),
    stopSignal: last("STOPSIGNAL") ?? "SIGTERM",
    entrypoint: wordsOf(last("ENTRYPOINT")),
    cmd: wordsOf(last("CMD")),
    healthcheck: healthcheck === undefined ? null : wordsOf(healthcheck),
  };
}

/** `A=b C="d e"`. */
function variablesOf({ text }: Instruction): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/([A-Za-z_]\w*)=(?:"([^"]*)"|(\S*))/g)];
  return Object.fromEntries(pairs.map(([, name = "", quoted, plain = ""]) => [name, quoted ?? plain]));
}

/** The exec form, a JSON array. @throws Error for the shell form, in which signals would end at a shell */
export function wordsOf(text: string | null): readonly string[] {
  if (text === null) return [];
  const words: unknown = JSON.parse(text);
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string")) throw new Error(`No list: ${text}`);
  return words;
}
