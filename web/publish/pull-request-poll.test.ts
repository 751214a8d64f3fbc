import { describe, expect, it } from "vitest";
import type { PullRequest } from "../../src/wire/pull-requests.ts";
import { pollMs } from "./use-pull-request.ts";

const check = (state: PullRequest["checks"][number]["state"]) => ({ state });
const open = { state: "open", merge: "possible", checks: [check("pending")], checksState: "pending" } as const;
const series = (pullRequest: Parameters<typeof pollMs>[0], reads: number) =>
  Array.from({ length: reads }, (_, calm) => pollMs(pullRequest, calm));

describe("a pull request is read again", () => {
  it("while checks are pending, less and less often", () => {
    expect(series(open, 6)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(pollMs(open, 5_000)).toBe(60_000);
  });

  it("while one check is pending and another has failed", () => {
    expect(pollMs({ ...open, checks: [check("failed"), check("pending")], checksState: "failed" }, 0)).toBe(5_000);
  });

  it("a few times while its checks have not appeared, or the forge does not know whether it can be merged", () => {
    const calls = [5_000, 10_000, 20_000, 40_000, false];
    expect(series({ ...open, checks: [], checksState: null }, 5)).toEqual(calls);
    expect(series({ ...open, checks: [check("passed")], checksState: "passed", merge: "unknown" }, 5)).toEqual(calls);
  });

  it("never when all checks have ended, or it is merged or closed", () => {
    expect(pollMs({ ...open, checks: [check("passed")], checksState: "passed" }, 0)).toBe(false);
    expect(pollMs({ ...open, state: "merged" }, 0)).toBe(false);
    expect(pollMs({ ...open, state: "closed" }, 0)).toBe(false);
    expect(pollMs(null, 0)).toBe(false);
  });
});
