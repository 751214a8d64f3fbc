import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { silentLog } from "../core/log.ts";
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
  await Promise.resolve(); // it is being started, and nobody knows yet that it cannot be
  await worker.close();
  expect(await task).toMatchObject({ code: "ENOENT" });
});
