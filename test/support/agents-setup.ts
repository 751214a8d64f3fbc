import type { TestProject } from "vitest/node";
import { type InstalledAgents, installAgents } from "../../tools/install-agents.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The pinned real agents. */
    agents: InstalledAgents;
  }
}

/** Runs in vitest's main process: installs the pinned agents when they are not there yet. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("agents", await installAgents((sentence) => console.log(sentence)));
}
