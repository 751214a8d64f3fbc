import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { pinnedVersion } from "../../tools/agent-versions.ts";
import { requireSupported, versionNotice } from "./agent-versions.ts";
import { builtInTemplates } from "./templates.ts";

const releases = { npmPackage: "@tests/agent", minimum: "2.1.200", newestTested: "2.10.0", updateCommand: "update it" };
const agent = { displayName: "Agent", releases };

describe("an agent that needs 2.1.200 and was tested up to 2.10.0", () => {
  test.for([
    ["2.1.199", "too_old"],
    ["2.1.99", "too_old"],
    ["2.0.999", "too_old"],
    ["1.9", "too_old"],
    ["2.1.200-beta.1", "too_old"],
    ["2.1.199+build.7", "too_old"],
    ["2.1.200", null],
    ["2.1.200+build.7", null],
    ["2.1.201-beta.1", null],
    ["2.9.1000", null],
    ["2.10.0-preview.2", null],
    ["2.10", null],
    ["2.10.1-nightly.20261126", "untested"],
    ["2.10.1", "untested"],
    ["3.0.0", "untested"],
    ["10.0.0", "untested"],
    // Cannot be compared.
    ["0.0.0", null],
    ["latest", null],
    ["2", null],
    ["2.1.199.4", null],
    ["2.1.199 (dev)", null],
    ["", null],
    [null, null],
  ] as const)("%s is %s", ([version, kind]) => {
    expect(versionNotice(agent, version)?.kind ?? null).toBe(kind);
  });
});

test.for([
  ["1.0.0-alpha", "1.0.0-alpha.1"],
  ["1.0.0-alpha.1", "1.0.0-alpha.beta"],
  ["1.0.0-alpha.beta", "1.0.0-beta"],
  ["1.0.0-beta.2", "1.0.0-beta.11"],
  ["1.0.0-rc.1", "1.0.0"],
] as const)("%s is older than %s, as in semantic versioning", ([older, newer]) => {
  const needs = (minimum: string) => ({ displayName: "Agent", releases: { ...releases, minimum } });
  expect(versionNotice(needs(newer), older)?.kind).toBe("too_old");
  expect(versionNotice(needs(older), newer)).toBeNull();
});

test("a refusal names both versions and the command", async () => {
  expect(await errorCode((async () => requireSupported(agent, "2.1.197"))())).toBe("agent_version_unsupported");
  expect(() => requireSupported(agent, "2.1.197")).toThrow(
    "Agent 2.1.197 is too old: Postern needs 2.1.200 or newer. Run `update it`.",
  );
  for (const version of ["2.1.200", "99.0.0", null]) requireSupported(agent, version);
  requireSupported({ displayName: "Custom", releases: null }, "0.0.1");
});

test("a newer version is named together with the newest tested one", () => {
  expect(versionNotice(agent, "2.11.0")).toEqual({
    kind: "untested",
    message: "Agent 2.11.0 is newer than 2.10.0, the newest version that Postern was tested with.",
    fix: null,
  });
});

describe.for(builtInTemplates)("$name", (template) => {
  const { displayName } = template;

  test("is tested at its pinned version, which is neither too old nor untested", async () => {
    expect(versionNotice(template, await pinnedVersion(template.name))).toBeNull();
  });

  test.for(["agents.md", "supported-versions.md"])("has its versions in the table of docs/%s", async (page) => {
    const text = await readFile(join(import.meta.dirname, "../../docs", page), "utf8");
    const rows = text.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
    const head = rows.find((row) => row.includes("minimum")) ?? [];
    const row =
      rows
        .slice(rows.indexOf(head))
        .find((cells) => cells.some((cell) => [cell, `${cell} CLI`].includes(displayName))) ?? [];
    const cell = (title: string) => row[head.indexOf(title)];
    expect(cell("minimum")).toBe(template.releases?.minimum);
    expect(cell("pinned")).toBe(await pinnedVersion(template.name));
    expect(cell("newest tested")).toBe(template.releases?.newestTested);
    expect(cell("update")).toBe(`\`${template.releases?.updateCommand}\``);
  });
});
