// Loaded into a process with `--import`: on SIGUSR2 it collects all garbage and writes what is in use to the file in MEMORY_REPORT.
import { writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const path = process.env["MEMORY_REPORT"];
if (path !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  process.on("SIGUSR2", () => {
    if (typeof collect === "function") collect();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(path, String(heapUsed + external));
  });
}
