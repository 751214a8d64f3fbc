import { z } from "zod";
import { closingText, parseScript, type Script, type Step, type ToolOutcome } from "./script.ts";

/** A request of either API, reduced to what the script needs. */
export interface Conversation {
  readonly model: string;
  readonly systemPrompt: string;
  /** The last thing the user said, without what the agent injected around it. */
  readonly prompt: string;
  /** Results of the tool calls made since that prompt, oldest first. */
  readonly outcomes: readonly ToolOutcome[];
  /** Names of the tools that the agent offers. */
  readonly tools: readonly string[];
  /** `turn`: the conversation itself; `side`: what the agent asks for itself (titles, summaries). */
  readonly kind: "turn" | "side";
  /** The JSON Schema that the answer to a side request must follow. */
  readonly answerSchema: unknown;
}

/** An error response, with the headers and fields of the script. */
export interface ToldError extends Partial<Pick<NonNullable<Script["fail"]>, "headers" | "error">> {
  readonly status: number;
  readonly message: string;
}

/** What to answer, before it is written in the words of an API. */
export type Reply =
  | ({ readonly kind: "error" } & ToldError)
  | { readonly kind: "tool"; readonly thinking: string | null; readonly step: Step }
  | { readonly kind: "text"; readonly thinking: string | null; readonly text: string; readonly slowMs: number };

/** Counts the failures already given for a prompt, so that `fail 529 2` stops after two. */
export type FailureCount = (prompt: string) => number;

/** The scripted model: a pure function of the conversation, but for the count of failures. */
export function replyTo(conversation: Conversation, countFailure: FailureCount): Reply {
  const script = parseScript(conversation.prompt);
  // An agent also asks for a title of the same prompt. Scripts use `answer` only for requests with a schema.
  if (conversation.kind === "side" && script.answer === null) {
    return { kind: "text", thinking: null, text: sideAnswer(conversation.answerSchema), slowMs: 0 };
  }
  const failure = failureOf(script, conversation, countFailure);
  if (failure !== null) return failure;
  if (conversation.kind === "side") {
    return { kind: "text", thinking: null, text: script.answer ?? "", slowMs: script.slowMs };
  }
  const thinking = conversation.outcomes.length === 0 ? script.thinking : null;
  const step = script.steps[conversation.outcomes.length];
  if (step !== undefined) return { kind: "tool", thinking, step };
  const text = closingText(conversation.prompt, script, conversation.outcomes);
  return { kind: "text", thinking, text, slowMs: script.slowMs };
}

function failureOf(script: Script, { prompt, outcomes }: Conversation, countFailure: FailureCount): Reply | null {
  if (script.fail === null || outcomes.length < script.steps.length) return null;
  if (script.fail.times !== null && countFailure(prompt) > script.fail.times) return null;
  const { status, headers, error } = script.fail;
  return { kind: "error", status, headers, error, message: `Scripted failure ${status}.` };
}

const jsonSchema = z.looseObject({
  type: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
});

/** A harmless answer to a side request: every string of its schema is a title. */
function sideAnswer(schema: unknown): string {
  const parsed = jsonSchema.safeParse(schema);
  return parsed.success && parsed.data.type === "object" ? JSON.stringify(sample(schema)) : sideTitle;
}

const sideTitle = "Scripted title";

function sample(schema: unknown): unknown {
  const parsed = jsonSchema.safeParse(schema);
  if (!parsed.success) return null;
  const { type, properties } = parsed.data;
  if (type === "object")
    return Object.fromEntries(Object.entries(properties ?? {}).map(([name, each]) => [name, sample(each)]));
  if (type === "array") return [];
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return 0;
  return sideTitle;
}
