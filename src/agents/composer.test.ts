import { describe, expect, test } from "vitest";
import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";

/** Visible lines as Claude Code 2.1.329 and Codex 0.169.0 painted them, blank lines left out where they do not matter. */
const rule = "─".repeat(80);
const claudeFoot = [rule, "❯\u00a0", rule, "  ⏸ manual mode on · ? for shortcuts · ← for agents"];
const codexFoot = [
  "› Ask Codex to do anything",
  "",
  "  GPT-6.1-Sol default · /work · Scripted title",
  "  ← for agents",
];

describe("Claude Code", () => {
  test.each([
    ["after the start", [" ▐▛███▛█   Claude Code v2.1.329", "", "                  ◐ medium · /effort", ...claudeFoot]],
    ["while a turn runs", ["❯ slow 20000", "● ECHO", "✽ Osmosing… (2s · ↓ 1 tokens)", ...claudeFoot]],
    ["with a typed line", ["❯ say hi", "● hi", rule, "❯ hello", rule, "  ⏸ manual mode on"]],
    ["with several typed lines", [rule, "❯ two", "  lines", rule, "  ⏸ manual mode on"]],
  ])("shows the composer %s", (_title, lines) => {
    expect(claudeCode.composerPainted(lines)).toBe(true);
  });

  test.each([
    ["nothing yet", ["", ""]],
    ["a past prompt", ["❯ please write it", "● Write(out.txt)", rule]],
    [
      "a permission dialog",
      [
        "❯ please write it",
        rule,
        " Create file",
        "╌╌╌╌",
        " Do you want to create out.txt?",
        " ❯ 1. Yes",
        "   3. No",
        " Esc to cancel",
      ],
    ],
    [
      "the question about trust",
      [rule, " Accessing workspace:", " ❯ No, exit", "   Yes, I trust this folder", " Enter to confirm"],
    ],
    [
      "the question about an MCP server",
      [
        rule,
        "  New MCP server found in this project: x",
        "    Use this MCP server",
        "  ❯ Continue without using this MCP server",
      ],
    ],
  ])("shows no composer with %s", (_title, lines) => {
    expect(claudeCode.composerPainted(lines)).toBe(false);
  });
});

describe("Codex", () => {
  test.each([
    ["0.169.0", ["  >_ OpenAI Codex (v0.169.0)", "     loading", ""]],
    ["0.169.0 in a resume", ["  >_ OpenAI Codex (v0.169.0)", "     ~/project", "  Resuming session…", "", ""]],
    ["0.159.3", ["  >_ OpenAI Codex (v0.159.3)", "     ~/project", "  Ready when you are.", ""]],
  ])("is starting while there is only a hint below its composer: %s", (_title, head) => {
    for (const foot of [
      ["› Ask Codex to do anything", "", "  ? for shortcuts", ""],
      ["› typed words", "", "  Waiting for startup  · esc cancel", ""],
    ]) {
      expect(codex.isStarting?.([...head, ...foot])).toBe(true);
      expect(codex.composerPainted([...head, ...foot])).toBe(false);
    }
    expect(codex.isStarting?.([...head, ...codexFoot])).toBe(false);
    expect(codex.isStarting?.([...head, "› 1. Yes", "  2. No", "", "  ? for shortcuts of this question", ""])).toBe(
      false,
    );
  });

  test("of version 0.156.0 is starting while nothing is below its composer", () => {
    const head = ["│ >_ OpenAI Codex (v0.156.0)            │", "  Resuming session…", " "];
    expect(codex.isStarting?.([...head, "› Ask Codex to do anything", " ", " "])).toBe(true);
    expect(codex.isStarting?.([...head, "› Ask Codex to do anything", "", "  GPT-6-Astra default · ~/project"])).toBe(
      false,
    );
  });

  test.each([
    ["after the start", ["", "  >_ OpenAI Codex (v0.169.0)", "     /work", "", ...codexFoot]],
    ["while a turn runs", ["› slow 20000", "• ECHO", "", ...codexFoot]],
    ["with typed text", ["› say hi", "• hi", "› hello", "", "  GPT-6.1-Sol default · /work", ""]],
    [
      "in a narrow terminal",
      ["› Ask Codex to do anything", "", "  GPT-6.1-Sol default · /tmp/agents-pro…", "  ← for agents"],
    ],
  ])("shows the composer %s", (_title, lines) => {
    expect(codex.composerPainted(lines)).toBe(true);
  });

  test.each([
    ["nothing yet", ["", ""]],
    ["a past prompt alone", ["› say hi", "• hi"]],
    [
      "a permission dialog",
      ["› write it · now", "  Would you like to make the following edits?", "› 1. Yes, proceed (y)", "  3. No · esc"],
    ],
    [
      "the question about trust",
      ["  Folder access", "› 1. Trust and continue", "  2. Back to Agent Command Center", "  a · b"],
    ],
    [
      "hooks that need review",
      ["  Hooks need review", "› 1. Review hooks", "  2. Trust all and continue", "  enter · esc"],
    ],
    [
      "a session that is still read, to be resumed",
      ["  >_ OpenAI Codex (v0.169.0)", "  Resuming session…", "› Ask Codex to do anything", "", "  ? for shortcuts"],
    ],
    [
      "a prompt that waits for the end of the start",
      ["  Resuming session…", "› say typed early", "", "  Waiting for startup  · esc cancel"],
    ],
    [
      "a conversation that is open in another app",
      [
        "› say hello",
        "• hello · again",
        "  Worked for <1s • 20:08",
        "  🔒   This conversation is open in another app                                      r to retry",
        "      Close it there and press R to continue here.",
        "   r retry   f fork   ←/esc command center   ^c/q exit   ^t transcript",
      ],
    ],
    ["the login", ["  Welcome to Codex, OpenAI's command-line coding agent", "> 1. Sign in with ChatGPT"]],
  ])("shows no composer with %s", (_title, lines) => {
    expect(codex.composerPainted(lines)).toBe(false);
  });
});
