import { expect, test } from "vitest";
import { errorOfAnswer, PosternClientError } from "../../src/client/index.ts";
import { newSessionErrors, placeOf } from "./start-session.ts";

test.each([
  ["dir_not_allowed", "dir"],
  ["not_a_git_repository", "dir"],
  ["base_branch_not_found", "baseBranch"],
  ["branch_exists", "branch"],
  ["worktree_exists", "branch"],
  ["model_not_supported", "model"],
  ["prompt_not_text", "prompt"],
  ["agent_binary_missing", "agent"],
  ["agent_version_unsupported", "agent"],
] as const)("%s is shown next to the field %s", (code, field) => {
  const { byField, general } = newSessionErrors(new PosternClientError(code, "Why.", { status: 422 }));
  expect(byField).toEqual({ [field]: "Why." });
  expect(general).toBe(null);
});

test("an invalid body is shown next to each invalid field", () => {
  const errors = ["dir", "branch"].map((path) => ({ path, message: `Not a ${path}` }));
  const error = errorOfAnswer(400, { code: "invalid_request", detail: "No.", errors });
  expect(newSessionErrors(error).byField).toEqual({ dir: "Not a dir", branch: "Not a branch" });
});

test("an error without a field is shown above the form; without an error nothing is shown", () => {
  const error = new PosternClientError("too_many_sessions", "32 are live.", { status: 429 });
  expect(newSessionErrors(error)).toEqual({ byField: {}, general: error });
  expect(newSessionErrors(null)).toEqual({ byField: {}, general: null });
});

test("a worktree's branch is left to the gateway when the field is empty", () => {
  const form = { dir: " /code ", agent: "", model: "", worktree: true, baseBranch: "main", branch: " " };
  expect(placeOf(form)).toEqual({ dir: "/code", worktree: { baseBranch: "main" } });
  expect(placeOf({ ...form, branch: "fix" })).toEqual({
    dir: "/code",
    worktree: { baseBranch: "main", branch: "fix" },
  });
  expect(placeOf({ ...form, worktree: false })).toEqual({ dir: "/code" });
});
