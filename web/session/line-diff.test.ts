import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countOfDiff, type DiffLine, diffOfPatch, diffOfTexts, filesOfApplyPatch } from "./line-diff.ts";

const outline = (lines: readonly DiffLine[]): readonly string[] =>
  lines.map(
    ({ kind, text, number }) => `${{ added: "+", removed: "-", context: " ", hunk: "" }[kind]}${text}|${number}`,
  );

describe("a diff", () => {
  it("of two texts shows removed and added lines between unchanged ones", () => {
    expect(outline(diffOfTexts("a\nb\nc\n", "a\nB\nB2\nc\n"))).toEqual([" a|1", "-b|2", "+B|2", "+B2|3", " c|4"]);
  });

  it("of any two texts contains both of them", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 }).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffOfTexts(before, after);
        const of = (kind: string): string =>
          lines
            .filter((line) => line.kind === "context" || line.kind === kind)
            .map((line) => line.text)
            .join("\n");
        expect(of("removed")).toBe(before.replace(/\n$/, ""));
        expect(of("added")).toBe(after.replace(/\n$/, ""));
      }),
    );
  });

  it("of huge texts does not compare every pair of lines", () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `${at}`).join("\n");
    expect(countOfDiff(diffOfTexts(many, many.replaceAll("1", "x"))).added).toBeGreaterThan(1_000);
  });

  it("of a patch numbers the lines", () => {
    const patch =
      "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@ f()\n one\n-two\n+2\n+3\n\\ No newline at end of file\n";
    expect(outline(diffOfPatch(patch))).toEqual(["@@ -3,2 +3,3 @@ f()|null", " one|3", "-two|4", "+2|4", "+3|5"]);
    expect(countOfDiff(diffOfPatch(patch))).toEqual({ added: 2, removed: 1 });
  });

  it("of a patch shows no header between its hunks, for example where a file became a link", () => {
    const patch = [
      "diff --git a/x b/x",
      "deleted file mode 100644",
      "index 1..0",
      "--- a/x",
      "+++ /dev/null",
      "@@ -1,2 +0,0 @@",
      "-one",
      "-two",
      "diff --git a/x b/x",
      "new file mode 120000",
      "index 0..2",
      "--- /dev/null",
      "+++ b/x",
      "@@ -0,0 +1 @@",
      "+target",
      "\\ No newline at end of file",
      "",
    ].join("\n");
    const lines = ["@@ -1,2 +0,0 @@|null", "-one|1", "-two|2", "@@ -0,0 +1 @@|null", "+target|1"];
    expect(outline(diffOfPatch(patch))).toEqual(lines);
    expect(outline(diffOfPatch(patch.replaceAll(/^(diff|new|deleted|index).*\n/gm, "")))).toEqual(lines);
    expect(outline(diffOfPatch(patch.replace("two\n", "two\n\n")))).toEqual(lines);
  });

  it("of a patch has every line of its hunks, including those that look like headers", () => {
    const start = fc.constantFrom(
      "diff --git a/x b/x",
      "-- a/x",
      "++ b/x",
      "--- a/x",
      "+++ b/x",
      "@@ -1 +1 @@",
      "\\ No",
      "",
    );
    const text = fc.tuple(start, fc.constantFrom("", " ", "x")).map((parts) => parts.join(""));
    const line = fc.record({ kind: fc.constantFrom("added", "removed", "context"), text });
    const hunks = fc.array(fc.array(line, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(hunks, (written) => {
        const count = (lines: (typeof written)[number], other: string): number =>
          lines.filter(({ kind }) => kind !== other).length;
        const patch = written.flatMap((lines) => [
          "diff --git a/x b/x",
          "--- a/x",
          "+++ b/x",
          `@@ -1,${count(lines, "added")} +1,${count(lines, "removed")} @@`,
          ...lines.map(({ kind, text: words }) => `${kind === "added" ? "+" : kind === "removed" ? "-" : " "}${words}`),
        ]);
        const read = diffOfPatch(`${patch.join("\n")}\n`).filter(({ kind }) => kind !== "hunk");
        expect(read.map(({ kind, text: words }) => ({ kind, text: words }))).toEqual(written.flat());
      }),
    );
  });

  it("of a patch with wrong counts hides no line", () => {
    const patch = "--- a/x\n+++ b/x\n@@ -1,0 +1,0 @@\n+one\n-two\n three\n";
    expect(outline(diffOfPatch(patch)).slice(1)).toEqual(["+one|1", "-two|1", " three|2"]);
    const [file] =
      filesOfApplyPatch("*** Begin Patch\n*** Update File: a\n@@ -1,0 +1,0 @@\n--- one\n*** End Patch\n") ?? [];
    expect(outline(file?.lines ?? []).slice(1)).toEqual(["--- one|1"]);
  });

  it("of an apply_patch lists its files", () => {
    const patch =
      "*** Begin Patch\n*** Add File: a.md\n+one\n+two\n*** Update File: b.ts\n@@ f()\n x\n-y\n+z\n*** Delete File: c\n*** End Patch\n";
    const files = filesOfApplyPatch(patch);
    expect(files?.map(({ path, action }) => [path, action])).toEqual([
      ["a.md", "added"],
      ["b.ts", "modified"],
      ["c", "deleted"],
    ]);
    expect(outline(files?.[0]?.lines ?? [])).toEqual(["+one|null", "+two|null"]);
    expect(outline(files?.[1]?.lines ?? [])).toEqual(["@@ f()|null", " x|null", "-y|null", "+z|null"]);
    expect(filesOfApplyPatch("ls")).toBeNull();
  });
});
