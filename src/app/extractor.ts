import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createModelExtractor, type Extractor } from "../logs/index.ts";
import type { Config } from "./config.ts";

const usualKeyVariable = "POSTERN_EXTRACTOR_API_KEY";

/**
 * The model of `memory.extractor`, or null. Tells the operator what leaves this machine.
 * @throws PosternError `invalid_configuration` when there is no key where one has to be
 */
export function extractorOf(
  config: Pick<Config, "memory" | "env">,
  deps: { readonly clock: Clock; readonly log: Log },
): Extractor | null {
  const settings = config.memory.extractor;
  if (settings === undefined) return null;
  const { provider, baseUrl, model, apiKeyVariable } = settings;
  const apiKey = config.env[apiKeyVariable ?? usualKeyVariable]?.trim() ?? "";
  if (apiKey === "" && (provider === "anthropic" || apiKeyVariable !== undefined)) {
    throw new PosternError(
      "invalid_configuration",
      `The setting "memory.extractor" needs a key in the variable ${apiKeyVariable ?? usualKeyVariable}, which is empty. Set it for the gateway, or remove the setting.`,
    );
  }
  const { origin } = new URL(baseUrl);
  deps.log.info({ model, origin, key: apiKey !== "" }, "what is remembered is sent to a model");
  return createModelExtractor({ provider, baseUrl, model, apiKey: apiKey === "" ? null : apiKey, clock: deps.clock });
}
