export type { PublishErrorCode } from "./errors.ts";
export type { PublishPlace, PublishPorts } from "./ports.ts";
export { createPublish, type Publish } from "./publish.ts";
