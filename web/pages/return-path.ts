import { z } from "zod";

const locationSchema = z.object({ state: z.object({ from: z.string() }) });

/** Where somebody wanted to go before the sign-in page came between: a path of this application, or the sessions. */
export function returnPath(location: unknown): string {
  const parsed = locationSchema.safeParse(location);
  if (!parsed.success) return "/";
  const { from } = parsed.data.state;
  return /^\/(?![/\\])/.test(from) && !from.startsWith("/sign-in") ? from : "/";
}
