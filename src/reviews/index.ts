export type { PromptFate, ReviewedFile, ReviewPorts } from "./ports.ts";
export { createReviews, type ReviewErrorCode, type Reviews } from "./reviews.ts";
