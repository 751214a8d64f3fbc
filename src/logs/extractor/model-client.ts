import { answerSchema } from "./claims.ts";
import { instructions } from "./instructions.ts";

/** Which model is asked, and where. */
export interface ModelSettings {
  readonly provider: "openai-compatible" | "anthropic";
  /** With the version: `https://api.anthropic.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Null for a server without keys. */
  readonly apiKey: string | null;
}

/** What a model answered, not looked at yet. */
export type ModelAnswer =
  | { readonly kind: "answer"; readonly value: unknown }
  | { readonly kind: "refused"; readonly status: number; readonly retryAfter: string | null }
  | { readonly kind: "unreachable" }
  | { readonly kind: "unreadable" };

/** Asks once. @throws the signal's reason */
export type AskModel = (prompt: string, signal: AbortSignal) => Promise<ModelAnswer>;

/** 80 facts of the longest kind fit in a quarter of it. */
const maxAnswerBytes = 2 * 1024 * 1024;
/** Anthropic's API wants a bound. Newer models of others refuse the parameter, and think at the cost of it. */
const maxAnthropicTokens = 16_000;

/** Loads what talks to models: 10 MB and a quarter of a second, which a gateway without an extractor does not spend. */
export async function loadModelClient(settings: ModelSettings): Promise<AskModel> {
  const [ai, model] = await Promise.all([import("ai"), loadModel(settings)]);
  const { generateText, jsonSchema, asSchema, Output, APICallError, NoObjectGeneratedError, NoOutputGeneratedError } =
    ai;
  // What it would print are remarks on settings, for those who program.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  // Only the form is told: one fact that does not fit must not cost the others.
  const schema = jsonSchema(asSchema(answerSchema).jsonSchema);
  const bounds = settings.provider === "anthropic" ? { maxOutputTokens: maxAnthropicTokens } : {};
  return async (prompt, signal) => {
    try {
      const { output } = await generateText({
        model,
        instructions,
        prompt,
        output: Output.object({ schema, name: "facts" }),
        maxRetries: 0,
        abortSignal: signal,
        telemetry: { isEnabled: false },
        ...bounds,
      });
      return { kind: "answer", value: output };
    } catch (error) {
      signal.throwIfAborted();
      // The messages of these errors quote the text and the answer: what leaves here is a word for what happened.
      if (NoObjectGeneratedError.isInstance(error) || NoOutputGeneratedError.isInstance(error)) {
        return { kind: "unreadable" };
      }
      if (!APICallError.isInstance(error)) return { kind: "unreadable" };
      const { statusCode: status, responseHeaders } = error;
      if (status === undefined) return { kind: "unreachable" };
      if (status < 400) return { kind: "unreadable" };
      return { kind: "refused", status, retryAfter: responseHeaders?.["retry-after"] ?? null };
    }
  };
}

/** Everything is given: what is left out, these packages would look for in variables that belong to the agents. */
async function loadModel({ provider, baseUrl, model, apiKey }: ModelSettings) {
  const fetch = boundedFetch(baseUrl);
  if (provider === "anthropic") {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ baseURL: baseUrl, apiKey: apiKey ?? "", fetch })(model);
  }
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const key = apiKey === null ? {} : { apiKey };
  return createOpenAICompatible({
    name: "extractor",
    baseURL: baseUrl,
    supportsStructuredOutputs: true,
    fetch,
    ...key,
  })(model);
}

/**
 * A fetch that goes to one address only, follows no redirect (which would take text and key elsewhere) and takes no endless answer.
 * Not the guarded fetch: the owner named this address, and it may well be this machine's.
 */
function boundedFetch(baseUrl: string): typeof fetch {
  const prefix = `${baseUrl.replace(/\/+$/, "")}/`;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.startsWith(prefix)) throw new Error("A model is asked at its own address only.");
    const response = await fetch(url, { ...init, redirect: "error" });
    const { status, statusText, headers } = response;
    return new Response(await boundedBody(response), { status, statusText, headers });
  };
}

async function boundedBody(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (response.body === null) return null;
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    sizeBytes += chunk.byteLength;
    // Leaving the loop cancels the body, which closes the connection.
    if (sizeBytes > maxAnswerBytes) throw new Error(`A model answered with more than ${maxAnswerBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
