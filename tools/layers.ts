import type { IFlattenedRuleSet, IRegularForbiddenRuleType } from "dependency-cruiser";

/** Independent capabilities. If one needs another, `src/app` passes a function. */
const capabilities = [
  "folders",
  "accounts",
  "events",
  "oauth",
  "logs",
  "backup",
  "chats",
  "push",
  "sharing",
  "reviews",
  "permissions",
  "publish",
  "comparisons",
] as const;

/** The folders behind sessions, from the bottom up; {@link facesFor} has their dependencies. */
const sessionRooms = ["transcripts", "worktrees", "attachments", "agents", "catalog", "sessions", "terminals"] as const;

/** The interfaces for people and programs. */
const interfaces = ["http", "mcp", "channels", "cli"] as const;

const base = ["core", "wire", "platform", "storage"] as const;

/** Folders whose files may all be imported. Own files, packages and Node's modules are covered below. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  wire: [],
  client: [],
  platform: ["core"],
  storage: ["core"],
  "terminal-host": ["core", "platform"],
  service: ["core", "platform"],
  doctor: base,
  ...Object.fromEntries([...capabilities, ...sessionRooms].map((name) => [name, base])),
  ...Object.fromEntries(interfaces.map((name) => [name, ["core", "wire"]])),
  cli: ["core", "wire", "client"],
  app: [...base, "cli", "http", "mcp", "channels", "doctor", "service"],
};

/** Folders whose public interface may be imported. */
const facesFor: Readonly<Record<string, readonly string[]>> = {
  agents: ["transcripts", "terminal-host"],
  catalog: ["transcripts", "agents"],
  sessions: ["transcripts", "worktrees", "attachments", "agents", "catalog", "terminal-host"],
  terminals: ["transcripts", "worktrees", "attachments", "agents", "catalog", "sessions", "terminal-host"],
  ...Object.fromEntries(interfaces.map((name) => [name, [...capabilities, ...sessionRooms]])),
  app: [...capabilities, ...sessionRooms, "terminal-host"],
};

/** A folder's public files: `index.ts` by default. */
const faceFiles: Readonly<Record<string, string>> = {
  // A terminal may run on another machine.
  "terminal-host": "(client|terminal-info)",
  // Reading transcripts needs no agent: the indexing process loads only this.
  agents: "(index|transcript-formats)",
};

const roomsWithFace = [...capabilities, ...sessionRooms, "terminal-host"] as const;

function faceOf(room: string): string {
  return `^src/${room}/${faceFiles[room] ?? "index"}\\.ts$`;
}

/** Only shipped code is checked. Tests may import their folder's files and `test/support`. */
const shipped = { pathNot: "\\.test\\.ts$" } as const;

/** Whether `file` is `main.ts` (or its test), or in a folder with rules. */
export function hasRoom(file: string): boolean {
  const folder = /^src\/([^/]+)\//.exec(file)?.[1];
  return folder === undefined ? /^src\/main(\.test)?\.ts$/.test(file) : folder in mayImport;
}

function rule(
  name: string,
  comment: string,
  ends: Pick<IRegularForbiddenRuleType, "from" | "to">,
): IRegularForbiddenRuleType {
  return { name, comment, severity: "error", from: { ...shipped, ...ends.from }, to: ends.to };
}

function folderRule([folder, others]: readonly [string, readonly string[]]): IRegularForbiddenRuleType {
  const faces = facesFor[folder] ?? [];
  const allowed = [...[folder, ...others].map((name) => `^src/${name}/`), ...faces.map(faceOf)];
  const list = [...others, ...faces.map((name) => `${name}'s face`)].join(", ") || "no other folder";
  return rule(`${folder}-imports`, `src/${folder} may import ${list}.`, {
    from: { path: `^src/${folder}/` },
    to: { path: "^src/", pathNot: allowed },
  });
}

/** The import rules for dependency-cruiser. */
export const layerRules: IFlattenedRuleSet = {
  forbidden: [
    ...Object.entries(mayImport).map(folderRule),
    rule("core-is-bare", "src/core uses Node's own modules and nothing else.", {
      from: { path: "^src/core/" },
      to: { path: "^node_modules/" },
    }),
    rule("wire-is-zod", "src/wire also runs in a browser: zod, and no module of Node.", {
      from: { path: "^src/wire/" },
      to: { pathNot: ["^src/", "^node_modules/zod/"] },
    }),
    rule("client-is-bare", "src/client is a package for any runtime: no package, and no module of Node.", {
      from: { path: "^src/client/" },
      to: { pathNot: "^src/client/" },
    }),
    rule("agents-apart", "An agent's folder never imports another agent's.", {
      from: { path: "^src/agents/([^/]+)/" },
      to: { path: "^src/agents/[^/]+/", pathNot: "^src/agents/$1/" },
    }),
    rule("through-faces", "From outside, a room is its `index.ts`.", {
      from: { path: "^src/([^/]+)(/|\\.ts$)" },
      to: {
        path: `^src/(${roomsWithFace.join("|")})/`,
        pathNot: ["^src/$1/", ...roomsWithFace.map(faceOf)],
      },
    }),
    rule("source-only", "What ships imports nothing of tests, tools and benchmarks.", {
      from: { path: "^src/" },
      to: { path: ["^(test|tools|bench)/", "\\.test\\.ts$"] },
    }),
    rule("no-dev-dependencies", "What ships runs on `dependencies` alone.", {
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["npm", "type-only"] },
    }),
    rule("models-late", "What talks to models is loaded at its first use: most gateways never use it.", {
      from: { path: "^src/" },
      to: { path: "^node_modules/(ai|@ai-sdk)/", dynamic: false },
    }),
    rule("no-cycle", "Two files that need each other are one file, or three.", {
      from: { path: "^src/" },
      to: { circular: true },
    }),
    rule("resolvable", "The import leads nowhere.", { from: {}, to: { couldNotResolve: true } }),
  ],
};
