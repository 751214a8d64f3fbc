import { expect, test } from "vitest";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { activityWords } from "./session-messages.ts";

test("a failed turn has the same words in a chat as on the command line", () => {
  const failed = sessionSummary({ activity: "idle", turnFailure: "Your credit is too low." });
  expect(activityWords(failed)).toBe("⚠ claude-code did not answer: Your credit is too low.");
  expect(activityWords(sessionSummary({ activity: "idle" }))).toBe("✓ claude-code is done");
});
