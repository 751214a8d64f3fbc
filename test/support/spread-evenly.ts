import { relative } from "node:path";
import { BaseSequencer, type TestProject, type TestSpecification } from "vitest/node";
import { longFiles } from "./long-files.ts";

/** Estimated time of a file that is not in the table, by its project. */
const usualSeconds: Readonly<Record<string, number>> = { unit: 2, gateway: 3, e2e: 8, "gateway-alone": 8, web: 15 };

/**
 * What files of a project that share a process take together before another project may come between them. vitest ends a shared process
 * as soon as the next file in line is of another project: more of them make a start for each file rare, fewer keep a process from
 * growing.
 */
const blockSeconds: Readonly<Record<string, number>> = { unit: 90, gateway: 90, e2e: 300 };

/**
 * Gives each worker, at any time of the run, a mixture of all projects: what computes runs next to what waits for agents, and
 * seldom two browsers at once. The longest files of each project come first, so that no worker is alone at the end.
 */
export class SpreadEvenly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = [...Map.groupBy(files, ({ project }) => project)];
    return projects
      .flatMap(([project, members]) => this.#place(project, members))
      .toSorted((a, b) => a.place - b.place)
      .map(({ it }) => it);
  }

  #place(project: TestProject, members: readonly TestSpecification[]): readonly Placed<TestSpecification>[] {
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      longFiles[relative(this.ctx.config.root, moduleId)] ?? usualSeconds[project.name] ?? 2;
    const placed = placeEvenly(members, secondsOf);
    return project.config.isolate ? placed : together(placed, secondsOf, blockSeconds[project.name] ?? 90);
  }
}

/** It, and the part of all time, from 0 to 1, that has passed in the middle of it. */
interface Placed<T> {
  readonly it: T;
  readonly place: number;
}

/** Each in its place; the longest first. */
export function placeEvenly<T>(items: readonly T[], secondsOfItem: (item: T) => number): readonly Placed<T>[] {
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

/** The same in blocks, each of which has one place: as many as take about `secondsOfBlock` together. */
export function together<T>(
  placed: readonly Placed<T>[],
  secondsOfItem: (item: T) => number,
  secondsOfBlock: number,
): readonly Placed<T>[] {
  let passed = 0;
  const blocks = Map.groupBy(placed, ({ it }) => {
    const block = Math.floor(passed / secondsOfBlock);
    passed += secondsOfItem(it);
    return block;
  });
  return [...blocks.values()].flatMap((block) => {
    const place = block.reduce((sum, one) => sum + one.place, 0) / block.length;
    return block.map(({ it }) => ({ it, place }));
  });
}
