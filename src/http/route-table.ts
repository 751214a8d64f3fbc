import type { KnownRoute } from "./route-server.ts";

/** What to say to a request that fits no route: with another method it may. */
export function findRoutes(
  routes: readonly KnownRoute[],
  request: { readonly method: string; readonly url: string },
): { readonly methods: readonly string[]; readonly detail: string } {
  const [path = ""] = request.url.split("?", 1);
  const methods = [
    ...new Set(routes.filter(({ url }) => fits(url, path)).flatMap((route) => route.methods)),
  ].toSorted();
  if (methods.length === 0) return { methods, detail: "There is no such route. /openapi.json lists them." };
  return { methods, detail: `This route does not take ${request.method}, but ${methods.join(", ")}.` };
}

function fits(url: string, path: string): boolean {
  const wanted = url.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith(":") ? given[at] !== "" : part === given[at]))
  );
}
