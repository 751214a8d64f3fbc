import { describe, expect, it } from "vitest";
import { answersOf, chosen, noChoice, planOf, questionsOf } from "./question-form.tsx";

const input = {
  questions: [
    { question: "Which?", header: "H", options: [{ label: "A", description: "a" }, { label: "B" }] },
    { question: "What else?", multiSelect: true, options: [{ label: "C" }, { label: "D" }] },
  ],
};

describe("a question of the agent", () => {
  it("is read from its tool's input; any other input is no question", () => {
    expect(questionsOf(input).map(({ question }) => question)).toEqual(["Which?", "What else?"]);
    expect(questionsOf({ questions: "none" })).toEqual([]);
    expect(planOf({ plan: "# Do it" })).toBe("# Do it");
    expect(planOf(null)).toBeNull();
  });

  it("is answered once every part is; several choices are joined, free text included", () => {
    const questions = questionsOf(input);
    const first = chosen(chosen(noChoice, "A", { multiple: false }), "B", { multiple: false });
    expect(first.labels).toEqual(["B"]);
    expect(answersOf(questions, { "Which?": first })).toBeNull();
    const both = chosen(chosen(noChoice, "C", { multiple: true }), "D", { multiple: true });
    expect(answersOf(questions, { "Which?": first, "What else?": { ...both, other: " and E " } })).toEqual({
      "Which?": "B",
      "What else?": "C, D, and E",
    });
    expect(chosen(both, "C", { multiple: true }).labels).toEqual(["D"]);
    expect(answersOf(questions, { "Which?": first, "What else?": { labels: [], other: "  " } })).toBeNull();
  });
});
