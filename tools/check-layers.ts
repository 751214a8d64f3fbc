import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cruise, type ICruiseResult, type IModule } from "dependency-cruiser";
import { hasRoom, layerRules } from "./layers.ts";
import { checkWebImports } from "./web-imports.ts";

/** The result of checking the imports in `src/` and `web/`. */
export interface LayerReport {
  readonly modules: number;
  readonly imports: number;
  /** One line each, ready to print; empty if all rules are kept. */
  readonly problems: readonly string[];
}

/**
 * Checks the import rules of `tools/layers.ts`, and first that every file was read: without a parser for this TypeScript,
 * dependency-cruiser reports no modules, no violations, and success.
 *
 * @param root folder that holds `src/`, and `web/` if there is one
 */
export async function checkLayers(root: string): Promise<LayerReport> {
  const onDisk = globSync("src/**/*.ts", { cwd: root }).toSorted();
  const result = await cruiseSource(root);
  const cruised = new Map(result.modules.map((module) => [module.source, module]));
  const blind = onDisk.flatMap((file) => unseen(join(root, file), { file, module: cruised.get(file) }));
  const violations = result.summary.violations.map(({ from, to, rule }) => {
    const comment = layerRules.forbidden?.find(({ name }) => name === rule.name)?.comment ?? "";
    return `${from} imports ${to} (${rule.name}): ${comment}`;
  });
  const seen = onDisk.filter((file) => cruised.has(file));
  const web = checkWebImports(root);
  return {
    modules: seen.length + web.modules,
    imports: seen.reduce((sum, file) => sum + (cruised.get(file)?.dependencies.length ?? 0), web.imports),
    problems: [
      ...(onDisk.length === 0 ? [`no TypeScript file under ${join(root, "src")}`] : []),
      ...(seen.length < onDisk.length ? [`too few modules: looked at ${seen.length} of ${onDisk.length} files`] : []),
      ...onDisk
        .filter((file) => !hasRoom(file))
        .map((file) => `${file} is in a folder without a rule in tools/layers.ts`),
      ...blind,
      ...violations,
      ...web.problems,
    ],
  };
}

async function cruiseSource(root: string): Promise<ICruiseResult> {
  const { output } = await cruise(["src"], {
    baseDir: root,
    parser: "swc",
    validate: true,
    ruleSet: layerRules,
    tsPreCompilationDeps: true,
    doNotFollow: { path: ["^node_modules/"] },
    enhancedResolveOptions: { conditionNames: ["node", "import", "default"], exportsFields: ["exports"] },
  });
  if (typeof output === "string") throw new Error(`dependency-cruiser answered with text: ${output.slice(0, 200)}`);
  return output;
}

/** Imports in a file's text that dependency-cruiser did not see. */
function unseen(path: string, { file, module }: { file: string; module: IModule | undefined }): string[] {
  if (module === undefined || file.endsWith(".test.ts")) return [];
  const known = new Set(module.dependencies.map((dependency) => dependency.module));
  return writtenImports(readFileSync(path, "utf8"))
    .filter((specifier) => !known.has(specifier))
    .map((specifier) => `${file} imports ${specifier}, and the parser did not see it`);
}

function writtenImports(text: string): string[] {
  const statements = text.matchAll(/^(?:import|export|\})\s(?:[^"';]*\sfrom\s)?"(\.{1,2}\/[^"]+)";?$/gm);
  return [...new Set([...statements].flatMap(([, specifier]) => specifier ?? []))];
}

if (import.meta.main) {
  const report = await checkLayers(resolve(process.argv[2] ?? "."));
  for (const problem of report.problems) console.error(problem);
  console.log(`${report.modules} modules, ${report.imports} imports, ${report.problems.length} problems`);
  process.exitCode = report.problems.length === 0 ? 0 : 1;
}
