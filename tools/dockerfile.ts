/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  readonly keyword: string;
  readonly text: string;
}

/** The instructions between one `FROM` and the next. */
export interface Stage {
  readonly base: string;
  /** Its name for `COPY --from`; null without one. */
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

/** An image's configuration of its containers. */
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
 * Parses this repository's Dockerfile, and others with the same features: no ARG, no heredocs, no variables in instructions.
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
    if (stage === undefined) throw new Error(`Instruction before the first FROM: ${line}`);
    stage.instructions.push({ keyword: keyword.toUpperCase(), text: rest });
  }
  return stages;
}

/** The image configuration of a stage, on top of its base. */
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

/** The exec form, a JSON array. @throws Error for the shell form, because its shell does not pass on signals */
export function wordsOf(text: string | null): readonly string[] {
  if (text === null) return [];
  const words: unknown = JSON.parse(text);
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string")) throw new Error(`No list: ${text}`);
  return words;
}
