import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { baseEnv } from "./contained.ts";
import { imageConfig, parseDockerfile } from "./dockerfile.ts";

const root = resolve(import.meta.dirname, "..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const stages = parseDockerfile(textOf("Dockerfile"));
const last = stages.at(-1);
if (last === undefined) throw new Error("The Dockerfile has no stage.");
const image = imageConfig(last, baseEnv);

test("stages, continued lines, comments and variables are read", () => {
  const text = '# A comment\nFROM a:1 AS one\nRUN x \\\n    y\nFROM b:2\nENV A=1 \\\n    B="2 3"\nCMD ["c", "d"]\n';
  const [one, two] = parseDockerfile(text);
  expect(one).toEqual({ base: "a:1", name: "one", instructions: [{ keyword: "RUN", text: "x y" }] });
  expect(two === undefined ? null : imageConfig(two)).toMatchObject({
    env: { A: "1", B: "2 3" },
    user: "root",
    cmd: ["c", "d"],
  });
  expect(() => parseDockerfile("RUN x\n")).toThrow("before the first FROM");
});

describe("the image", () => {
  test("has the Node and the agents that the tests run with", () => {
    const { devDependencies, engines } = JSON.parse(textOf("package.json"));
    expect(stages.map(({ base }) => base)).toEqual(stages.map(() => `node:${devDependencies.node}-bookworm-slim`));
    expect(engines.node).toBe(`>=${devDependencies.node.split(".")[0]}`);
    const build = stages[0]?.instructions.map(({ keyword, text }) => `${keyword} ${text}`) ?? [];
    // Both take what test/agents/package-lock.json pins; nothing else brings an agent.
    expect(build).toContain("RUN node tools/install-agents.ts");
    const taken = last.instructions.flatMap(
      ({ text }) => /^--from=build \/build\/(\S+) (\/opt\/agents\/\S+)$/.exec(text)?.slice(1) ?? [],
    );
    expect(taken).toEqual(
      ["anthropic-ai", "openai"].flatMap((scope) => [`test/agents/node_modules/@${scope}`, `/opt/agents/@${scope}`]),
    );
    expect(textOf("Dockerfile")).not.toMatch(/npm (i|install) /);
  });

  test("runs without privileges, keeps its state on volumes, and has a stop signal and a health check", () => {
    expect(image).toMatchObject({
      user: "postern",
      volumes: ["/home/postern", "/code"],
      workdir: "/code",
      stopSignal: "SIGTERM",
      entrypoint: ["tini", "--", "/opt/postern/container/entrypoint.sh"],
      healthcheck: ["node", "/opt/postern/container/healthcheck.mjs"],
    });
    expect(textOf("Dockerfile"), "not every engine builds this").not.toContain("--start-interval=");
    expect(image.env["POSTERN_HOME"]).toMatch(/^\/home\/postern\//);
    // Nothing that follows USER needs root any more.
    const afterUser = last.instructions.slice(last.instructions.findIndex(({ keyword }) => keyword === "USER"));
    expect(afterUser.map(({ keyword }) => keyword)).not.toContain("RUN");
  });

  test("has no secret, no download address, and no setting that opens the network", () => {
    const all = stages.flatMap(({ instructions }) => instructions);
    expect(all.map(({ keyword }) => keyword)).not.toContain("ADD");
    expect(all.map(({ keyword }) => keyword)).not.toContain("ARG");
    expect(all.map(({ text }) => text).join("\n")).not.toMatch(/https?:|KEY=|TOKEN=|SECRET|PASSWORD/i);
    expect(Object.keys(image.env)).not.toContain("POSTERN_INSECURE_HTTP");
    expect(textOf("container/example.env")).not.toMatch(/^[^#\n]/m);
    expect(textOf(".gitignore")).toMatch(/^postern\.env$/m);
    expect(textOf(".dockerignore")).toMatch(/^\*\n/m);
    expect(textOf(".dockerignore")).toMatch(/^\*\*\/\*\.env$/m);
  });

  test("has every file that its build needs", () => {
    const kept = new Set(textOf(".dockerignore").match(/(?<=^!).+$/gm));
    for (const file of [
      "bin",
      "container",
      "src",
      "tools",
      "web",
      "package-lock.json",
      "tsconfig.json",
      "tsconfig.build.json",
    ]) {
      expect(kept).toContain(file);
    }
    const { files } = JSON.parse(textOf("package.json"));
    for (const file of files) if (file !== "dist") expect(kept).toContain(file);
    for (const path of kept) expect(() => statSync(join(root, path)), path).not.toThrow();
    for (const name of readdirSync(join(root, "container")).filter((each) => /^postern$|entrypoint/.test(each))) {
      expect(statSync(join(root, "container", name)).mode & 0o111, name).toBe(0o111);
    }
  });
});

test("compose publishes on loopback if it allows http, and drops all privileges", () => {
  const compose = textOf("compose.yaml");
  expect([...compose.matchAll(/^ +- "(\S+:\d+:\d+)"/gm)].map(([, port]) => port)).toEqual(["127.0.0.1:7177:7177"]);
  expect(compose).toContain('POSTERN_INSECURE_HTTP: "1"');
  expect(compose).toContain(`7177:${image.env["POSTERN_PORT"]}`);
  for (const volume of image.volumes) expect(compose).toMatch(new RegExp(`^ +- \\w+:${volume}\\b`, "m"));
  for (const words of ["read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "stop_grace_period: 30s"]) {
    expect(compose).toContain(words);
  }
});
