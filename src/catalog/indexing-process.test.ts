import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { silentLog } from "../core/log.ts";
import { processRow } from "../platform/process-table.ts";
import { createIndexingProcess } from "./indexing-process.ts";

test("a process that cannot be started fails its task, and does not keep the gateway from stopping", async () => {
  const { execPath } = process;
  process.execPath = "/nonexistent/node";
  onTestFinished(() => {
    process.execPath = execPath;
  });
  const worker = createIndexingProcess({
    order: () => ({
      place: { url: null, path: "/nonexistent/catalog", storePath: "/nonexistent/store" },
      sources: [],
      forgotten: [],
    }),
    clock: createFakeClock(),
    log: silentLog,
    onProgress: () => undefined,
    onFolders: () => undefined,
  });
  const task = worker.run({ kind: "sweep" }).catch((error: unknown) => error);
  await Promise.resolve(); // it is starting, and has not failed yet
  await worker.close();
  expect(await task).toMatchObject({ code: "ENOENT" });
});

/** Gives the worker many tasks, prints its pid, and is killed when the worker reports the first of them as done. */
const killedGateway = `
const { fork } = require("node:child_process");
const { openSync } = require("node:fs");
const [worker, folder] = process.argv.slice(1);
const stdio = ["ignore", "ignore", openSync(folder + "/stderr", "a"), "ipc"];
const child = fork(worker, [], { env: {}, serialization: "advanced", stdio });
const place = { url: null, path: folder + "/catalog", storePath: folder + "/store" };
child.send({ place, sources: [], forgotten: [] });
for (let sent = 0; sent < 500; sent += 1) child.send({ kind: "sweep" });
process.stdout.write(String(child.pid));
child.on("message", () => process.kill(process.pid, "SIGKILL"));
`;

test("the indexing process of a killed gateway exits silently", async () => {
  const folder = await makeTempFolder();
  const worker = fileURLToPath(new URL("./catalog-worker.ts", import.meta.url));
  const gateway = spawn(process.execPath, ["-e", killedGateway, worker, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = Number(await text(gateway.stdout));
  await expect.poll(() => processRow(pid), { timeout: 10_000 }).toBeUndefined();
  expect(await readFile(join(folder, "stderr"), "utf8")).toBe("");
});
