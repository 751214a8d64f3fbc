import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../test/support/temp-folder.ts";
import { benchmarks, runBenchmark } from "./bench.ts";

const folder = resolve(import.meta.dirname, "../bench");

test("every program of bench/ is a benchmark with a small size, or shared by them", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const others = files.filter((file) => !benchmarks.includes(file.slice(0, -3)));
  expect(others).toEqual(["corpus.ts", "measure.ts"]);
  expect(benchmarks.length).toBeGreaterThan(20);
  const withoutSmall = benchmarks.filter(
    (name) => !/\bsizeOf\(\{ full: [\d_]+, small: [\d_]+/.test(readFileSync(join(folder, `${name}.ts`), "utf8")),
  );
  expect(withoutSmall).toEqual([]);
});

test("a benchmark that measured nothing fails", async () => {
  const path = join(await makeTempFolder(), "benchmark.mjs");
  const outcomeOf = async (script: string): Promise<string | null> => {
    await writeFile(path, script);
    return (await runBenchmark(path, ["--small"])).failure;
  };
  expect(await outcomeOf('console.log("p50 3 ms");')).toBeNull();
  expect(await outcomeOf('console.log("nothing to do");')).toBe("printed no figure");
  expect(await outcomeOf("console.log(`1 file, ratio ${0 / 0}`);")).toBe("printed a figure that was not measured");
  expect(await outcomeOf('console.log("p50 3 ms"); process.exitCode = 1;')).toBe("exited with 1");
  expect(await outcomeOf('process.kill(process.pid, "SIGKILL");')).toBe("was ended by SIGKILL");
});

test("a wrong argument or option is refused, not measured", async () => {
  const path = join(await makeTempFolder(), "benchmark.mjs");
  const measure = JSON.stringify(join(folder, "measure.ts"));
  await writeFile(path, `import { sizeOf } from ${measure}; console.log(sizeOf({ full: 9, small: 1, position: 0 }));`);
  expect((await runBenchmark(path, ["--small"])).failure).toBeNull();
  for (const argument of ["many", "0", "--fast"]) {
    expect((await runBenchmark(path, [argument])).failure, argument).toBe("exited with 1");
  }
});
