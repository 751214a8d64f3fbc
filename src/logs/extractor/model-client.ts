import { answerSchema, instructions } from "./claims.ts";

export interface ModelSettings {
  readonly provider: "openai-compatible" | "anthropic";
  /** The base URL, including the version, such as `https://api.anthropic.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Null for a server that needs none. */
  readonly apiKey: string | null;
}

/** A model's answer, not validated yet. */
export type ModelAnswer =
  | { readonly kind: "answer"; readonly value: unknown }
  | { readonly kind: "refused"; readonly status: number; readonly retryAfter: string | null }
  | { readonly kind: "unreachable" }
  | { readonly kind: "unreadable" };

/** Asks once. @throws the signal's reason */
export type AskModel = (prompt: string, signal: AbortSignal) => Promise<ModelAnswer>;

/** 80 facts of maximum length take a quarter of it. */
const maxAnswerBytes = 2 * 1024 * 1024;
/** Anthropic's API requires a limit. Newer models of other providers reject the parameter or count thinking against it. */
const maxAnthropicTokens = 16_000;

/** Loads the SDK: 10 MB and 250 ms, only spent with an extractor. */
export async function loadModelClient(settings: ModelSettings): Promise<AskModel> {
  const [ai, model] = await Promise.all([import("ai"), loadModel(settings)]);
  const { generateText, jsonSchema, asSchema, Output, APICallError } = ai;
  globalThis.AI_SDK_LOG_WARNINGS = false;
  // Without validation: one bad fact must not discard the others.
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
      // These errors quote the text and the answer, so only their kind is returned.
      if (!APICallError.isInstance(error)) return { kind: "unreadable" };
      const { statusCode: status, responseHeaders } = error;
      if (status === undefined) return { kind: "unreachable" };
      if (status < 400) return { kind: "unreadable" };
      return { kind: "refused", status, retryAfter: responseHeaders?.["retry-after"] ?? null };
    }
  };
}

/** Passes everything explicitly: these packages read missing settings from environment variables meant for the agents. */
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
 * A fetch limited to one address, without redirects (which would send text and key elsewhere) and with a bounded answer.
 * Not the guarded fetch: the owner configured this address, and it can be on this machine.
 */
function boundedFetch(baseUrl: string): typeof fetch {
  const prefix = `${baseUrl.replace(/\/+$/, "")}/`;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.startsWith(prefix)) throw new Error("A request to the model was redirected to another address.");
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
    if (sizeBytes > maxAnswerBytes) throw new Error(`The model's answer exceeds ${maxAnswerBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
