import { z } from "zod";

const locationSchema = z.object({
  search: z.string().default(""),
  state: z.object({ from: z.string() }).nullable().catch(null),
});

/** Any: only whether it is left matters. */
const here = "http://postern.invalid";

/**
 * Where to go after the sign-in: the path of this gateway that was requested, or the sessions. A page of the application
 * says it in the history's state, one of the gateway itself (that of a consent) by `?to=`.
 */
export function returnPath(location: unknown): string {
  const parsed = locationSchema.safeParse(location);
  if (!parsed.success) return "/";
  const { state, search } = parsed.data;
  const wanted = state?.from ?? new URLSearchParams(search).get("to") ?? "/";
  // As the browser will read it: it drops tabs and line ends, and takes `\` for `/`.
  const url = wanted.startsWith("/") && URL.canParse(wanted, here) ? new URL(wanted, here) : null;
  if (url === null || url.origin !== here || url.pathname.startsWith("/sign-in")) return "/";
  // A path of several slashes would be read as a host once more.
  return url.pathname.startsWith("//") ? "/" : `${url.pathname}${url.search}${url.hash}`;
}

/** Whether the gateway itself shows what is at `path`, not this application. */
export function isServerPage(path: string): boolean {
  return path.startsWith("/oauth/");
}
