export type { ReviewErrorCode } from "./errors.ts";
export type { PromptFate, ReviewedFile, ReviewPorts } from "./ports.ts";
export { createReviews, type Reviews } from "./reviews.ts";
