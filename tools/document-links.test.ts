import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** All Markdown in the root and in docs. */
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

/** The text without code, where brackets mean something else. */
function prose(path: string): string {
  return readFileSync(path, "utf8")
    .replaceAll(/^ *(`{3,})[\s\S]*?^ *\1 *$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()#]/g, ""));
}

/** A document's links to files. */
function targetsOf(document: string): readonly string[] {
  const text = prose(join(root, document));
  const found = [
    ...[...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target),
    ...[...text.matchAll(/(?:src|srcset|href)="([^"]+)"/g)].map(([, target = ""]) => target),
  ];
  return found.filter((target) => !/^[a-z][a-z+.-]*:/.test(target));
}

/** GitHub's anchors for the headings of a document. */
function anchorsOf(path: string): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const anchors = new Set<string>();
  const headings = readFileSync(path, "utf8")
    .replaceAll(/^ *(`{3,})[\s\S]*?^ *\1 *$/gm, "")
    .matchAll(/^#{1,6} +(.+?) *$/gm);
  for (const [, heading = ""] of headings) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const before = counts.get(anchor) ?? 0;
    counts.set(anchor, before + 1);
    anchors.add(before === 0 ? anchor : `${anchor}-${before}`);
  }
  return anchors;
}

function isBroken(document: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? join(root, document) : resolve(root, dirname(document), decodeURIComponent(path));
  if (!existsSync(file) || relative(root, file).startsWith("..")) return true;
  return anchor !== undefined && statSync(file).isFile() && !anchorsOf(file).has(anchor);
}

test("every link within the documentation leads to an existing file and heading", () => {
  const broken = documents.flatMap((document) =>
    targetsOf(document)
      .filter((target) => isBroken(document, target))
      .map((target) => `${document}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("every page of the documentation is in its index", () => {
  const listed = new Set(targetsOf("docs/README.md").map((target) => join("docs", target.split("#")[0] ?? "")));
  const pages = documents.filter((document) => /^docs\/(?!decisions\/|README)/.test(document));
  expect(pages.filter((page) => !listed.has(page))).toEqual([]);
});
