import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { longFiles } from "./long-files.ts";

/** What a file that is not in the table takes about, by its project. */
const usualSeconds: Readonly<Record<string, number>> = { unit: 2, e2e: 8, web: 15 };

/**
 * Gives each worker, at any time of the run, a mixture of all projects: what computes runs beside what waits for agents, and
 * seldom two browsers beside each other. The longest files of each project come first, so that no worker is alone at the end.
 */
export class SpreadEvenly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(files, ({ project }) => project.name);
    const placed = [...projects].flatMap(([name, members]) =>
      placeEvenly(members, ({ moduleId }) => secondsOf(relative(this.ctx.config.root, moduleId), name)),
    );
    return placed.toSorted((a, b) => a.place - b.place).map(({ it }) => it);
  }
}

function secondsOf(file: string, project: string): number {
  return longFiles[file] ?? usualSeconds[project] ?? 2;
}

/** Each with the part of all their time, from 0 to 1, that has passed in the middle of it; the longest first. */
export function placeEvenly<T>(
  items: readonly T[],
  secondsOfItem: (item: T) => number,
): readonly { readonly it: T; readonly place: number }[] {
  const all = items.reduce((sum, item) => sum + secondsOfItem(item), 0);
  let passed = 0;
  return items
    .toSorted((a, b) => secondsOfItem(b) - secondsOfItem(a))
    .map((it) => {
      const seconds = secondsOfItem(it);
      passed += seconds;
      return { it, place: (passed - seconds / 2) / all };
    });
}
