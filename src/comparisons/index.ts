export { type ComparisonErrorCode, type Comparisons, createComparisons } from "./comparisons.ts";
export type { ComparisonPorts } from "./ports.ts";
