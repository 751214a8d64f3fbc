import type { Clock } from "../../core/clock.ts";
import type { Assertion } from "../assertion.ts";
import { chunksOf } from "../episode.ts";
import type { Extractor } from "../ports.ts";
import { sessionOf } from "../rules.ts";
import { assertionsOf, extractorName, fenced } from "./claims.ts";
import { type AskModel, loadModelClient, type ModelAnswer, type ModelSettings } from "./model-client.ts";

/** Chunks have 4,000 characters: six fit a small model's context, with room for the answer. */
const chunksOfPiece = 6;
/** Enough for the longest episode. Each piece is a call to the model, which can cost money. */
const maxPieces = 11;
/** A local model without a graphics card takes a minute for a piece. */
const answerTimeoutMs = 120_000;
const maxAttempts = 3;
const firstPauseMs = 2_000;
/** If a server asks for a longer pause, a quota is exhausted. */
const maxPauseMs = 60_000;

/**
 * An extractor that calls a model a few times per entry, in sequence, and retries when the server is busy. Facts that are malformed or
 * not supported by the text are dropped. Loads the SDK with the first entry.
 */
export function createModelExtractor({
  clock,
  ...settings
}: ModelSettings & {
  readonly clock: Clock;
}): Extractor {
  let client: Promise<AskModel> | undefined;

  async function askOnce(prompt: string, signal: AbortSignal): Promise<ModelAnswer | { readonly kind: "late" }> {
    const late = new AbortController();
    const stop = clock.after(answerTimeoutMs, () => late.abort());
    try {
      const askModel = await (client ??= loadModelClient(settings));
      return await askModel(prompt, AbortSignal.any([signal, late.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) return { kind: "late" };
      throw error;
    } finally {
      stop();
    }
  }

  async function ask(prompt: string, signal: AbortSignal): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      const answer = await askOnce(prompt, signal);
      if (answer.kind === "answer") return answer.value;
      const pauseMs = attempt < maxAttempts ? pauseAfter(answer, attempt) : null;
      if (pauseMs === null) throw new Error(failureOf(answer));
      await clock.sleep(pauseMs, signal);
    }
  }

  return {
    name: extractorName(settings.model),
    async extract(text, { sessionId, observedAt, signal }) {
      const session = sessionOf(sessionId);
      const found: Assertion[] = [];
      for (const piece of piecesOf(text)) {
        const answer = await ask(fenced(piece), signal);
        const assertions = assertionsOf(answer, { text: piece, session, at: observedAt });
        if (assertions === null) throw new Error(failureOf({ kind: "unreadable" }));
        found.push(...assertions);
      }
      return found;
    },
  };
}

function piecesOf(text: string): readonly string[] {
  const chunks = text.trim() === "" ? [] : chunksOf(text);
  const count = Math.min(maxPieces, Math.ceil(chunks.length / chunksOfPiece));
  return Array.from({ length: count }, (_, index) =>
    chunks.slice(index * chunksOfPiece, (index + 1) * chunksOfPiece).join(""),
  );
}

type Failure = Exclude<Awaited<ReturnType<AskModel>>, { readonly kind: "answer" }> | { readonly kind: "late" };

/** Null if retrying would not help. */
function pauseAfter(failure: Failure, attempt: number): number | null {
  const usualMs = firstPauseMs * 2 ** (attempt - 1);
  if (failure.kind === "unreachable") return usualMs;
  if (failure.kind !== "refused" || (failure.status !== 429 && failure.status < 500)) return null;
  const wantedMs = Number(failure.retryAfter ?? Number.NaN) * 1_000; // NaN for a date
  if (Number.isNaN(wantedMs) || wantedMs < 0) return usualMs;
  return wantedMs > maxPauseMs ? null : Math.max(wantedMs, usualMs);
}

function failureOf(failure: Failure): string {
  if (failure.kind === "late") return `The model did not answer within ${answerTimeoutMs / 1_000} seconds.`;
  if (failure.kind === "unreachable") return "Cannot reach the model's server.";
  if (failure.kind === "unreadable") return "The model's answer was not a list of facts.";
  const { status } = failure;
  if (status === 401 || status === 403) return `The model's server rejected the API key (${status}).`;
  if (status === 404) return "The model's server does not know this model or address (404).";
  if (status === 429) return "The model's server is overloaded or its quota is used up (429).";
  return status < 500
    ? `The model's server rejected the request (${status}).`
    : `The model's server failed (${status}).`;
}
