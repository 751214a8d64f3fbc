import type { IFlattenedRuleSet, IRegularForbiddenRuleType } from "dependency-cruiser";

/** Each names one thing that Postern can do; none of them knows another. Where two meet, `src/app.ts` passes a function. */
const capabilities = ["folders", "accounts", "coding", "events", "oauth", "logs", "backup", "chats"] as const;

/** What the folders under `src/` may import of the house. Their own files, packages and Node's modules are told apart below. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  wire: [],
  platform: ["core"],
  storage: ["core"],
  "terminal-host": ["core", "platform"],
  service: ["core", "platform"],
  doctor: ["core", "wire", "platform", "storage"],
  ...Object.fromEntries(capabilities.map((name) => [name, ["core", "wire", "platform", "storage"]])),
  http: ["core", "wire"],
  mcp: ["core", "wire"],
  channels: ["core", "wire"],
  cli: ["core", "wire"],
};

/** The folders that talk to people and programs: they see a capability only through its face, `index.ts`. */
const mouths = ["http", "mcp", "channels", "cli"] as const;

/** The agents' own face, for what is put together without sessions: the configuration, and commands that only need the store. */
const agentsFace = "^src/coding/agents/index\\.ts$";

/** All that anybody outside of `src/terminal-host/` may know of it. */
const terminalHostFace = "^src/terminal-host/(client|terminal-info)\\.ts$";

/** Rooms of `src/coding/` that serve sessions and therefore never know them. */
const codingRooms = ["agents", "catalog", "terminals", "transcripts", "worktrees"] as const;

const capabilityPattern = `^src/(${capabilities.join("|")})/`;
const capabilityFaces = `^src/(${capabilities.join("|")})/index\\.ts$`;

/** What is checked: the code that ships. A test may reach into its room and into `test/support`. */
const shipped = { pathNot: "\\.test\\.ts$" } as const;

/** Whether `file` lies in `src/` itself or in a folder of it that the rules know. */
export function hasRoom(file: string): boolean {
  const folder = /^src\/([^/]+)\//.exec(file)?.[1];
  return folder === undefined || folder in mayImport;
}

function rule(
  name: string,
  comment: string,
  ends: Pick<IRegularForbiddenRuleType, "from" | "to">,
): IRegularForbiddenRuleType {
  return { name, comment, severity: "error", from: { ...shipped, ...ends.from }, to: ends.to };
}

function folderRule([folder, others]: readonly [string, readonly string[]]): IRegularForbiddenRuleType {
  const allowed = [folder, ...others].map((name) => `^src/${name}/`);
  if (folder === "coding") allowed.push(terminalHostFace);
  if (mouths.some((mouth) => mouth === folder)) allowed.push(capabilityFaces);
  const list = others.length === 0 ? "nothing of the house" : others.join(", ");
  return rule(
    `${folder}-imports`,
    `src/${folder} may import ${list}${mouths.some((m) => m === folder) ? ", faces" : ""}.`,
    {
      from: { path: `^src/${folder}/` },
      to: { path: "^src/", pathNot: allowed },
    },
  );
}

/** The import rules of the house, as dependency-cruiser reads them. */
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
    ...codingRooms.map((room) =>
      rule(`coding-${room}-below-sessions`, `src/coding/${room} serves sessions and never imports them.`, {
        from: { path: `^src/coding/${room}/` },
        to: { path: "^src/coding/sessions/" },
      }),
    ),
    rule("composition-through-faces", "src/*.ts wires capabilities together through their faces.", {
      from: { path: "^src/[^/]+\\.ts$" },
      to: { path: capabilityPattern, pathNot: [capabilityFaces, agentsFace] },
    }),
    rule("terminal-host-through-its-face", "A terminal may live on another machine: only client and terminal-info.", {
      from: { path: "^src/", pathNot: ["^src/terminal-host/", shipped.pathNot] },
      to: { path: "^src/terminal-host/", pathNot: terminalHostFace },
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
