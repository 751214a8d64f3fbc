import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTempFolder } from "./temp-folder.ts";

const cli = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));

/** Revisions of the specification whose scenarios are run. */
const revisions = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof revisions)[number];

/** Why a scenario, or a check of one, does not apply; `docs/mcp.md` has the same list. */
type Reasons = Readonly<Record<string, readonly string[]>>;

const everywhere: Reasons = {
  "a prompt of the demonstration server; Postern has no prompts": [
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "completion-complete",
  ],
  "a tool that answers with media; Postern's tools answer with JSON": [
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
  ],
  "a binary resource; sessions are text": ["resources-read-binary"],
};

const applicable: Readonly<Record<Revision, Reasons>> = {
  "2025-11-25": {
    ...everywhere,
    "log messages to the client; they are deprecated, and Postern's go to its own log": [
      "logging-set-level",
      "tools-call-with-logging",
    ],
    "requests of the server to its client; Postern makes none": [
      "tools-call-sampling",
      "tools-call-elicitation",
      "elicitation-sep1034-defaults",
      "elicitation-sep1330-enums",
    ],
    "a tool whose schema shows every keyword of JSON Schema; ours are made from our own": ["json-schema-2020-12"],
    "a tool that cuts its own stream; Postern leaves that to the network": [
      "server-sse-polling:server-sse-disconnect-resume",
    ],
  },
  "2026-07-28": {
    ...everywhere,
    "a tool whose schema shows every keyword of JSON Schema; ours are made from our own": ["json-schema-2020-12"],
    "a tool that reads its arguments from headers (x-mcp-header)": ["http-custom-header-server-validation"],
    "tools of the demonstration server that ask their client, or log": [
      "server-stateless:sep-2575-server-rejects-undeclared-capability",
      "server-stateless:sep-2575-missing-capability-http-400",
      "server-stateless:sep-2575-http-server-no-independent-requests-on-stream",
      "server-stateless:sep-2575-server-no-log-without-loglevel",
    ],
    "the list of prompts": ["caching:sep-2549-prompts-list-caching-hints"],
    "answers that ask for more input (SEP-2322); Postern's are complete": [
      "input-required-result-basic-elicitation",
      "input-required-result-basic-sampling",
      "input-required-result-basic-list-roots",
      "input-required-result-request-state",
      "input-required-result-multiple-input-requests",
      "input-required-result-multi-round",
      "input-required-result-non-tool-request",
      "input-required-result-result-type",
      "input-required-result-tampered-state",
      "input-required-result-capability-check",
      "input-required-result-missing-input-response",
      "input-required-result-ignore-extra-params",
    ],
  },
};

/** Scenarios that need a tool or a resource of the demonstration server by name, but no feature that Postern lacks. */
const demonstrated = [
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "resources-read-text",
  "resources-templates-read",
] as const;
/** The same, of the specifications that have them. */
const demonstratedIn2025 = ["resources-subscribe", "resources-unsubscribe"] as const;

/**
 * Runs every scenario of the newest revision of each family against a server.
 * @param options `demo`: whether the server has what {@link demonstrated} names
 * @returns what was printed of a revision in which something failed that applies, or nothing failed that does not apply
 */
export async function findNonconformance(url: string, options: { readonly demo: boolean }): Promise<readonly string[]> {
  const runs = await Promise.all(revisions.map((revision) => run(url, revision, options)));
  return runs.flatMap(({ code, output }) => (code === 0 ? [] : [output]));
}

async function run(
  url: string,
  revision: Revision,
  { demo }: { readonly demo: boolean },
): Promise<{ readonly code: number | null; readonly output: string }> {
  const missing = demo ? [] : [...demonstrated, ...(revision === "2026-07-28" ? [] : demonstratedIn2025)];
  const entries = [...Object.values(applicable[revision]).flat(), ...missing];
  const folder = await makeTempFolder();
  const baseline = join(folder, "baseline.yml");
  await writeFile(baseline, `server:\n${entries.map((entry) => `  - "${entry}"\n`).join("")}`);
  const args = ["server", "--url", `${url}/mcp`, "--suite", "all", "--spec-version", revision];
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [cli, ...args, "--expected-failures", baseline, "--output-dir", join(folder, "results")],
      { timeout: 80_000, maxBuffer: 16 * 1024 * 1024 },
      (_error, stdout, stderr) => done({ code: child.exitCode, output: `${stdout}\n${stderr}` }),
    );
  });
}
