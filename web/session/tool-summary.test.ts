import { describe, expect, it } from "vitest";
import { fileOfResult, intentOfTool, kindOfTool, summaryOfTool, viewOfTool } from "./tool-summary.ts";

describe("a tool call", () => {
  it("is titled by what it is for", () => {
    const title = (name: string, input: unknown) => intentOfTool({ name, input });
    expect(title("Bash", { command: "npm test" })).toBe("Run a command");
    expect(title("exec_command", { cmd: "npm test" })).toBe("Run a command");
    expect(title("Edit", { file_path: "/a/retry.ts", old_string: "a", new_string: "b" })).toBe("Edit retry.ts");
    expect(title("Write", { file_path: "/a/new.ts", content: "" })).toBe("Write new.ts");
    expect(title("apply_patch", { changes: { "a.ts": {}, "b.ts": {} } })).toBe("Edit 2 files");
    expect(title("Read", { file_path: "/a/retry.ts" })).toBe("Read retry.ts");
    expect(title("WebFetch", { url: "https://example.com" })).toBe("Use the web");
    expect(title("mcp__notes__search", { query: "x" })).toBe("Use notes: search");
    expect(title("Odd", {})).toBe("Use Odd");
  });

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
    const todos = [
      { content: "a", status: "completed" },
      { content: "b", status: "pending" },
    ];
    expect(summaryOfTool({ todos })).toBe("1 of 2 steps");
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

  it("that plans is a list of steps, in each agent's form", () => {
    const steps = [
      { text: "a", state: "done" },
      { text: "b", state: "current" },
      { text: "c", state: "open" },
    ];
    const states = ["completed", "in_progress", "pending"];
    const named = (name: string) => states.map((status, at) => ({ [name]: "abc"[at], status }));
    expect(viewOfTool({ todos: named("content") })).toEqual({ kind: "checklist", steps });
    expect(viewOfTool({ plan: named("step") })).toEqual({ kind: "checklist", steps });
    expect(viewOfTool({ plan: ["a"] }).kind).toBe("json");
    expect(viewOfTool({ plan: "# Plan" }).kind).toBe("json");
  });

  it("has a kind, by its input first", () => {
    const kinds = [
      ["Bash", { command: "ls" }, "command"],
      ["Edit", { file_path: "a", old_string: "b", new_string: "c" }, "edit"],
      ["Read", { file_path: "a" }, "read"],
      ["read_file", { path: "a" }, "read"],
      ["Grep", { pattern: "a" }, "search"],
      ["Glob", { pattern: "*" }, "search"],
      ["WebFetch", { url: "u" }, "web"],
      ["WebSearch", { query: "q" }, "web"],
      ["update_plan", { plan: [{ step: "a", status: "pending" }] }, "plan"],
      ["Task", { description: "d", prompt: "p" }, "task"],
      ["mcp__tracker__issue", {}, "other"],
    ] as const;
    for (const [name, input, kind] of kinds) expect(kindOfTool({ name, input }), name).toBe(kind);
  });

  it("that reads a file has its text without the numbers, and its language", () => {
    const read = { name: "Read", input: { file_path: "/code/a.ts" } };
    expect(fileOfResult(read, "     9→const a = 1;\n    10→\n    11→b→c\n\n<system-reminder>x")).toEqual({
      numbers: "9\n10\n11",
      text: "const a = 1;\n\nb→c",
      language: "typescript",
    });
    expect(fileOfResult(read, "plain")).toEqual({ numbers: "", text: "plain", language: "typescript" });
    expect(fileOfResult({ name: "Bash", input: { command: "cat a" } }, "1→x")).toBeNull();
  });

  it("of another kind is shown as it is", () => {
    expect(viewOfTool({ a: 1 })).toEqual({ kind: "json", text: '{\n  "a": 1\n}' });
    expect(viewOfTool("await tools.exec_command({})")).toMatchObject({ kind: "code", language: "javascript" });
    expect(viewOfTool(undefined)).toEqual({ kind: "json", text: "" });
  });
});
