export type { CallOptions, RequestInput } from "./call.ts";
export { type ClientOptions, createClient, type FetchInit, type PosternClient } from "./client.ts";
export { type ClientErrorCode, errorOfAnswer, PosternClientError } from "./client-error.ts";
export type { EventsOptions, EventsState, StreamReset } from "./event-stream.ts";
export type * from "./operations.ts";
