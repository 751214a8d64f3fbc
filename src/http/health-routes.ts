import { z } from "zod";
import { type Clock, systemClock } from "../core/clock.ts";
import type { RouteModule } from "./route-server.ts";

/** What the gateway needs to do its work; each call rejects when that does not answer. */
export interface ReadyParts {
  readonly store: () => Promise<unknown>;
  readonly terminalHost: () => Promise<unknown>;
}

/** A part that takes longer to answer is not available. */
const deadlineMs = 2_000;
/** One look serves everyone who asks within this time: the route is public. */
const freshMs = 1_000;

const partSchema = z.enum(["ok", "unavailable"]);
const readySchema = z.object({
  status: z.enum(["ready", "unavailable"]),
  store: partSchema,
  terminalHost: partSchema,
});

type Part = z.infer<typeof partSchema>;
type Readiness = z.infer<typeof readySchema>;

/** `GET /healthz`: whether the process answers, and nothing else about it. */
export const healthRoutes: RouteModule = ({ app }) => {
  app.route({
    method: "GET",
    url: "/healthz",
    config: { access: "public" },
    schema: {
      operationId: "health",
      tags: ["gateway"],
      summary: "Whether the gateway's process answers.",
      description: "Liveness. Says nothing about the store or the terminals: see `/readyz`.",
      response: { 200: z.object({ status: z.literal("ok") }) },
    },
    handler: async () => ({ status: "ok" as const }),
  });
};

/** `GET /readyz`: whether the gateway can do its work. */
export const readyRoutes =
  (parts: ReadyParts, clock: Clock = systemClock): RouteModule =>
  ({ app }) => {
    let latest: { readonly at: number; readonly look: Promise<Readiness> } | undefined;

    async function partOf(ask: () => Promise<unknown>): Promise<Part> {
      const late = Promise.withResolvers<Part>();
      const cancel = clock.after(deadlineMs, () => late.resolve("unavailable"));
      const asked = ask().then(
        (): Part => "ok",
        (): Part => "unavailable", // the part logs why
      );
      return Promise.race([asked, late.promise]).finally(cancel);
    }

    async function look(): Promise<Readiness> {
      const [store, terminalHost] = await Promise.all([partOf(parts.store), partOf(parts.terminalHost)]);
      const status = store === "ok" && terminalHost === "ok" ? "ready" : "unavailable";
      return { status, store, terminalHost };
    }

    app.route({
      method: "GET",
      url: "/readyz",
      config: { access: "public" },
      schema: {
        operationId: "ready",
        tags: ["gateway"],
        summary: "Whether the gateway can serve requests: its store and its terminal host answer.",
        description: "Readiness. Each part has two seconds to answer; the answer can be one second old.",
        response: { 200: readySchema, 503: readySchema },
      },
      handler: async (_request, reply) => {
        if (latest === undefined || clock.now() - latest.at >= freshMs) latest = { at: clock.now(), look: look() };
        const readiness = await latest.look;
        return reply.code(readiness.status === "ready" ? 200 : 503).send(readiness);
      },
    });
  };
