import type { ServerResponse } from "node:http";
import type { Clock } from "../core/clock.ts";

/** Time for the body of a request to arrive. Responses are not limited. */
export const bodyMs = 60_000;
/** The limit for a slow body: its request is ended after this time, or earlier if nothing arrives for {@link bodyMs}. */
export const slowBodyMs = 3_600_000;

/**
 * Ends a request whose body does not arrive in time. Node's own `requestTimeout` would also end an upload that is slow but makes progress.
 * @param options `slow`: the route takes files
 */
export function limitBody(
  { req: request }: Pick<ServerResponse, "req">,
  options: { readonly slow: boolean; readonly clock: Pick<Clock, "now" | "after">; readonly onLate: () => void },
): void {
  const { slow, clock, onLate } = options;
  if (request.complete) return;
  const startedAt = clock.now();
  let cancel = (): void => undefined;
  const wait = (bytesRead: number): void => {
    cancel = clock.after(bodyMs, () => {
      if (request.complete) return;
      const moves = request.socket.bytesRead > bytesRead && clock.now() - startedAt < slowBodyMs;
      if (slow && moves) wait(request.socket.bytesRead);
      else onLate();
    });
  };
  wait(request.socket.bytesRead);
  request.once("close", () => cancel());
}
