import type { Usage } from "../../src/wire/turn.ts";

/** Such as `42 s` or `3 min 5 s`. */
export function durationWords(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function tokenWords({ inputTokens, outputTokens, cacheReadTokens }: Usage): string {
  const cached = cacheReadTokens === 0 ? "" : ` (${short(cacheReadTokens)} cached)`;
  return `${short(inputTokens)} in${cached}, ${short(outputTokens)} out`;
}

function short(count: number): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(count);
}
