import { z } from "zod";

const locationSchema = z.object({
  search: z.string().default(""),
  state: z.object({ from: z.string() }).nullable().catch(null),
});

/** Stands for this page's origin, to detect URLs that lead to another one. */
const here = "http://postern.invalid";

/** The path to open after signing in. Pages pass it in the history's state; the gateway's consent page passes it as `?to=`. */
export function returnPath(location: unknown): string {
  const parsed = locationSchema.safeParse(location);
  if (!parsed.success) return "/";
  const { state, search } = parsed.data;
  const wanted = state?.from ?? new URLSearchParams(search).get("to") ?? "/";
  // Parsed as the browser will parse it: it drops tabs and line ends, and reads `\` as `/`.
  const url = wanted.startsWith("/") && URL.canParse(wanted, here) ? new URL(wanted, here) : null;
  if (url === null || url.origin !== here || url.pathname.startsWith("/sign-in")) return "/";
  // Several leading slashes would be read as a host.
  return url.pathname.startsWith("//") ? "/" : `${url.pathname}${url.search}${url.hash}`;
}

/** Whether the gateway, not this application, serves `path`. */
export function isServerPage(path: string): boolean {
  return path.startsWith("/oauth/");
}
