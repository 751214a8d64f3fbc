import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sessionRecord } from "../../test/support/session-record.ts";
import { type RecordedSession, replayed, type Shown, shownBy } from "../../test/support/session-recorder.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { codex } from "../agents/codex/codex.ts";
import { nextSession } from "./next-session.ts";
import { newSessionState } from "./session-state.ts";

const folder = join(import.meta.dirname, "../../test/fixtures/situations");

function recordings(agent: string): readonly RecordedSession[] {
  const text = readFileSync(join(folder, `${agent}.jsonl`), "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
}

describe.each([claudeCode, codex])("$name, recorded", (template) => {
  const all = recordings(template.name);

  test("in every situation", () => {
    const titles = new Set(all.map(({ title }) => title));
    expect(titles.size).toBe(template === codex ? 17 : 24);
  });

  test.each(all)("$title", (recording) => {
    let state = newSessionState(sessionRecord(), "launched", recording.began);
    const shown: [number, Shown][] = [];
    let count = 0;
    for (const { at, message } of replayed(recording)) {
      ({ state } = nextSession(state, message, { template, now: at }));
      const now = shownBy(state);
      if (JSON.stringify(now) !== JSON.stringify(shown.at(-1)?.[1])) shown.push([count, now]);
      count += 1;
    }
    expect(shown).toEqual(recording.shown);
  });
});
