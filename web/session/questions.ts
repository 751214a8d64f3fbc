import { z } from "zod";

const optionSchema = z.looseObject({ label: z.string(), description: z.string().optional() });

const questionSchema = z.looseObject({
  question: z.string(),
  header: z.string().optional(),
  multiSelect: z.boolean().optional(),
  options: z.array(optionSchema).optional(),
});

const questionsSchema = z.looseObject({ questions: z.array(questionSchema) });
const planSchema = z.looseObject({ plan: z.string() });

/** What the agent is told. */
export interface PermissionAnswer {
  readonly decision: "allow" | "deny";
  readonly message?: string;
  readonly answers?: Readonly<Record<string, string>>;
}

/** A question of the agent, as its tool's input has it. */
export type Question = z.infer<typeof questionSchema>;

/** What was chosen and written for a question. */
export interface Choice {
  readonly labels: readonly string[];
  /** In one's own words. */
  readonly other: string;
}

export const noChoice: Choice = { labels: [], other: "" };

/** The questions of a tool's input; none when it has another form. */
export function questionsOf(input: unknown): readonly Question[] {
  return questionsSchema.safeParse(input).data?.questions ?? [];
}

/** The plan of a tool's input, as markdown. */
export function planOf(input: unknown): string | null {
  return planSchema.safeParse(input).data?.plan ?? null;
}

/** A choice with one label more or less; where only one can be chosen, another one. */
export function chosen(choice: Choice, label: string, { multiple }: { readonly multiple: boolean }): Choice {
  if (!multiple) return { labels: [label], other: "" };
  const labels = choice.labels.includes(label)
    ? choice.labels.filter((other) => other !== label)
    : [...choice.labels, label];
  return { ...choice, labels };
}

/** The answers by the questions' texts; null while one of them has none. */
export function answersOf(
  questions: readonly Question[],
  choices: Readonly<Record<string, Choice>>,
): Readonly<Record<string, string>> | null {
  const answers: Record<string, string> = {};
  for (const { question } of questions) {
    const { labels, other } = choices[question] ?? noChoice;
    const answer = [...labels, other.trim()].filter((part) => part !== "").join(", ");
    if (answer === "") return null;
    answers[question] = answer;
  }
  return answers;
}
