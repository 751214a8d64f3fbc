import { startTestRun } from "./test-folder.ts";

/** In vitest's main process, so that all workers share its run, and the folder is removed when the last of them has ended. */
export default function setup(): void {
  startTestRun();
}
