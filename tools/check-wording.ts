import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

// Finds phrases that do not read as plain English in what people read, comments and names included. A few hits are allowed, because
// each phrase has rare good uses.

const allowedHits = 30;

const phrases = [
  ...["telephone", "errand", "somebody", "nobody", "whoever", "nevertheless", "anew"],
  ...["goes on", "gone on", "is told", "are told", "let in", "lets in", "let in by", "looks on", "makes way"],
  ...[
    "mend",
    "mends",
    "of yours",
    "of its own",
    "of before",
    "for good",
    "from afar",
    "by itself",
    "no more",
    "log-in",
  ],
  ...["who did what", "is none of yours", "without a word", "inside error"],
];

/** Recorded text of agents is theirs; the reference repeats the source. */
const searched = ["src", "web", "docs", "README.md", ":!*/fixtures/*", ":!docs/reference/*", ":!docs/openapi.json"];

const root = resolve(process.argv[2] ?? resolve(import.meta.dirname, ".."));

function hits(): readonly string[] {
  const argv = ["-C", root, "grep", "-niwE", phrases.join("|"), "--", ...searched];
  try {
    return execFileSync("git", argv, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
      .trimEnd()
      .split("\n");
  } catch (error) {
    if (error instanceof Error && "status" in error && error.status === 1) return []; // no hit
    throw error;
  }
}

const found = hits();
for (const hit of found) console.log(hit.slice(0, 200));
console.log(`${found.length} of ${allowedHits} allowed hits.`);
if (found.length > allowedHits) process.exitCode = 1;
