import { describe, expect, it } from "vitest";
import { summaryOfTool, viewOfTool } from "./tool-summary.ts";

describe("a tool call", () => {
  it("is summarized on one line by its most important input", () => {
    expect(summaryOfTool({ command: "ls -l\n  | wc" })).toBe("ls -l | wc");
    expect(summaryOfTool({ command: ["git", "status"] })).toBe("git status");
    expect(summaryOfTool({ file_path: "/code/a.ts", offset: 3 })).toBe("/code/a.ts");
    expect(summaryOfTool({ file_path: "/code/a.ts", old_string: "a\nb", new_string: "a\nc" })).toBe("/code/a.ts +1 −1");
    expect(summaryOfTool({ file_path: "/code/a/b/c/d.ts" })).toBe("…/b/c/d.ts");
    expect(summaryOfTool({ file_path: "/code/a/b/c/d.ts", content: "x" })).toBe("…/b/c/d.ts +1 −0");
    expect(summaryOfTool({ pattern: "/code/a/**/b/c" })).toBe("/code/a/**/b/c");
    expect(summaryOfTool({ pattern: "retr(y|ies)", path: "/code/a/b/c/d", output_mode: "content" })).toBe(
      "retr(y|ies) in …/b/c/d",
    );
    expect(summaryOfTool({ pattern: "TODO", path: "" })).toBe("TODO");
    expect(summaryOfTool({ prompt: "/a and then b/c/d/e" })).toBe("/a and then b/c/d/e");
    expect(summaryOfTool({ todos: [{}, {}] })).toBe("2 steps");
    expect(summaryOfTool({ questions: [{ question: "Which one?" }] })).toBe("Which one?");
    expect(summaryOfTool({ other: { deep: 1 } })).toBe("");
    expect(summaryOfTool(null)).toBe("");
    expect(summaryOfTool("x".repeat(500)).length).toBeLessThan(220);
  });

  it("that changes files is shown as a diff, in each agent's form", () => {
    expect(viewOfTool({ file_path: "a", content: "1\n2\n" })).toMatchObject({
      kind: "edits",
      files: [{ path: "a", lines: [{ kind: "added" }, { kind: "added" }] }],
    });
    const patch = "*** Begin Patch\n*** Add File: b\n+x\n*** End Patch\n";
    const edits = { kind: "edits", files: [{ path: "b", lines: [{ kind: "added", text: "x" }] }] };
    expect(viewOfTool(patch)).toMatchObject(edits);
    expect(viewOfTool(`text(await tools.apply_patch(${JSON.stringify(patch)}));`)).toMatchObject(edits);
    expect(viewOfTool({ changes: { b: { type: "add", content: "x\n" } } })).toMatchObject(edits);
    expect(viewOfTool({ changes: { b: { add: { content: "x\n" } } } })).toMatchObject(edits);
    expect(viewOfTool({ changes: { b: { type: "update", unified_diff: "@@ -1 +1 @@\n-y\n+x\n" } } })).toMatchObject({
      files: [{ lines: [{ kind: "hunk" }, { kind: "removed" }, { kind: "added" }] }],
    });
  });

  it("of another kind is shown as it is", () => {
    expect(viewOfTool({ a: 1 })).toEqual({ kind: "json", text: '{\n  "a": 1\n}' });
    expect(viewOfTool("await tools.exec_command({})")).toMatchObject({ kind: "code", language: "javascript" });
    expect(viewOfTool(undefined)).toEqual({ kind: "json", text: "" });
  });
});
