import { describe, expect, it } from "vitest";
import type { ClosePreview } from "../../src/wire/changes.ts";
import {
  behindDraftWords,
  closedWords,
  deliveryWords,
  draftQuestion,
  previewWords,
  sizeWords,
  tokenWords,
} from "./session-words.ts";

const worktree: NonNullable<ClosePreview["worktree"]> = {
  path: "/code/feat",
  branch: "feat",
  files: 2,
  ignored: { count: 1_200, bytes: 3_400_000 },
  complete: true,
  keepsBecause: null,
};

describe("the effects of closing", () => {
  it("lists what is removed, kept, saved and lost", () => {
    const [, removed, rescued, lost] = previewWords({ worktree }, { discard: false });
    expect(removed).toBe("Removes the worktree /code/feat and keeps its branch feat.");
    expect(rescued).toBe("2 files with uncommitted changes are saved as a backup commit, which you can restore.");
    expect(lost).toBe("1,200 ignored files (3.4 MB), such as builds and dependencies, will be deleted permanently.");
    expect(previewWords({ worktree }, { discard: true })[2]).toBe("Discards 2 files with uncommitted changes.");
  });

  it("gives the reason for keeping a worktree, and nothing without one", () => {
    expect(
      previewWords({ worktree: { ...worktree, keepsBecause: "it holds a repository." } }, { discard: false }),
    ).toHaveLength(2);
    expect(previewWords({ worktree: null }, { discard: false })).toHaveLength(1);
  });

  it("marks counts that are incomplete", () => {
    expect(previewWords({ worktree: { ...worktree, complete: false } }, { discard: false })[2]).toMatch(
      /^At least 2 files/,
    );
    expect(previewWords({ worktree: { ...worktree, files: 0 } }, { discard: false })[2]).toBe(
      "Everything in it is committed.",
    );
  });
});

it("the outcome for a closed session's worktree", () => {
  const closed = {
    path: "/code/feat",
    removed: true,
    reason: null,
    rescue: { ref: "refs/x", commit: "c", files: 1 },
    ignoredLost: { count: 0, bytes: 0, first20: [] },
    branchKept: "feat",
  };
  expect(closedWords({ worktree: closed })).toBe(
    "The worktree was removed. Its branch feat was kept. 1 file with uncommitted work was saved as a backup commit.",
  );
  expect(closedWords({ worktree: { ...closed, removed: false, reason: "it is in use." } })).toContain("it is in use.");
  expect(closedWords({ worktree: null })).toBeNull();
});

it("the delivery of a prompt is described", () => {
  expect(deliveryWords(true, { queuedPrompts: 0 })).toBe("Delivered.");
  expect(deliveryWords(null, { queuedPrompts: 0, isCommand: true })).toContain("in the terminal");
  expect(deliveryWords(false, { queuedPrompts: 0 })).toMatch(/^Not delivered/);
  expect(deliveryWords(null, { queuedPrompts: 0 })).toMatch(/^Sent/);
  expect(deliveryWords(null, { queuedPrompts: 3 })).toMatch(/3 prompts/);
});

it("the question about unsent text shows it on one line, truncated", () => {
  expect(draftQuestion(" half\n  typed ")).toBe("The terminal has unsent text: “half typed”. Clear it, or send both?");
  expect(draftQuestion("😀".repeat(200))).toContain(`“${"😀".repeat(80)}…”`);
  expect(behindDraftWords(1)).toMatch(/^The queued message is held back by unsent text/);
  expect(behindDraftWords(2)).toMatch(/^2 queued messages are held back by/);
});

it("sizes and tokens are rounded to readable units", () => {
  expect([1, 999, 1_000, 12_345, 999_600, 5_000_000_000].map(sizeWords)).toEqual([
    "1 byte",
    "999 bytes",
    "1.0 kB",
    "12 kB",
    "1.0 MB",
    "5.0 GB",
  ]);
  expect([999, 1_000, 12_345, 1_200_000].map(tokenWords)).toEqual(["999", "1.0k", "12k", "1.2M"]);
});
