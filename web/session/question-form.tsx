import { useState } from "react";
import { z } from "zod";
import type { RememberPermission } from "../../src/wire/permission-rules.ts";
import { Button } from "../ui/button.tsx";
import { Form } from "../ui/field.tsx";

const optionSchema = z.looseObject({ label: z.string(), description: z.string().optional() });

const questionSchema = z.looseObject({
  question: z.string(),
  header: z.string().optional(),
  multiSelect: z.boolean().optional(),
  options: z.array(optionSchema).optional(),
});

const questionsSchema = z.looseObject({ questions: z.array(questionSchema) });
const planSchema = z.looseObject({ plan: z.string() });

export interface PermissionAnswer {
  readonly decision: "allow" | "deny";
  readonly message?: string;
  readonly answers?: Readonly<Record<string, string>>;
  readonly remember?: RememberPermission;
}

type Question = z.infer<typeof questionSchema>;

interface Choice {
  readonly labels: readonly string[];
  /** Free text. */
  readonly other: string;
}

export const noChoice: Choice = { labels: [], other: "" };

export function questionsOf(input: unknown): readonly Question[] {
  return questionsSchema.safeParse(input).data?.questions ?? [];
}

export function planOf(input: unknown): string | null {
  return planSchema.safeParse(input).data?.plan ?? null;
}

/** Toggles a label, or replaces it if only one can be chosen. */
export function chosen(choice: Choice, label: string, { multiple }: { readonly multiple: boolean }): Choice {
  if (!multiple) return { labels: [label], other: "" };
  const labels = choice.labels.includes(label)
    ? choice.labels.filter((other) => other !== label)
    : [...choice.labels, label];
  return { ...choice, labels };
}

/** Answers by question; null while one is missing. */
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

export function QuestionForm({
  questions,
  busy,
  onAnswer,
}: {
  readonly questions: readonly Question[];
  readonly busy: boolean;
  readonly onAnswer: (answer: PermissionAnswer) => void;
}) {
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({});
  const answers = answersOf(questions, choices);
  return (
    <Form onSubmit={() => answers !== null && onAnswer({ decision: "allow", answers })}>
      <div className="flex max-h-[50dvh] flex-col gap-4 overflow-y-auto">
        {questions.map((question) => (
          <OneQuestion
            key={question.question}
            question={question}
            choice={choices[question.question] ?? noChoice}
            onChoice={(choice) => setChoices({ ...choices, [question.question]: choice })}
          />
        ))}
      </div>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button type="submit" variant="primary" busy={busy} disabled={answers === null}>
          Answer
        </Button>
        <Button disabled={busy} onClick={() => onAnswer({ decision: "deny" })}>
          Skip
        </Button>
      </div>
    </Form>
  );
}

function OneQuestion(props: {
  readonly question: Question;
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
}) {
  const {
    question: { question, options = [], multiSelect = false },
    choice,
    onChoice,
  } = props;
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1.5 text-sm font-medium">{question}</legend>
      {options.map(({ label, description }) => (
        <label
          key={label}
          className="flex cursor-pointer items-start gap-2.5 rounded-lg border border-line px-2.5 py-1.5 hover:bg-hover has-checked:border-accent has-checked:bg-accent-soft pointer-coarse:min-h-11"
        >
          <input
            type={multiSelect ? "checkbox" : "radio"}
            name={question}
            checked={choice.labels.includes(label)}
            onChange={() => onChoice(chosen(choice, label, { multiple: multiSelect }))}
            className="mt-1 accent-(--color-accent-fill)"
          />
          <span className="min-w-0">
            <span className="block text-sm">{label}</span>
            {description !== undefined && <span className="block text-xs text-ink-faint">{description}</span>}
          </span>
        </label>
      ))}
      <input
        type="text"
        aria-label={`Your own answer to: ${question}`}
        placeholder={options.length === 0 ? "Your answer" : "Or type your own answer"}
        autoComplete="off"
        value={choice.other}
        onChange={(event) => onChoice({ labels: multiSelect ? choice.labels : [], other: event.target.value })}
        className="h-9 rounded-lg border border-line bg-raised px-2.5 text-sm placeholder:text-ink-faint"
      />
    </fieldset>
  );
}
