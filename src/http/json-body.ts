import type { FastifyInstance } from "fastify";
import { messageOf, PosternError } from "../core/errors.ts";

/**
 * Makes JSON the one kind of body: valid UTF-8 and whole characters only, so that what an agent is told is what was sent,
 * byte for byte. An empty body is as none.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  const parseSafely = app.getDefaultJsonParser("error", "error"); // refuses `__proto__` and its like
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body: Buffer, done) => {
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    const text = decode(body);
    if (text === null) {
      done(new PosternError("invalid_request", "The body is not valid UTF-8."), undefined);
      return;
    }
    void parseSafely(request, text, (error, value: unknown) => {
      if (error !== null) {
        done(new PosternError("invalid_request", `The body is not valid JSON: ${messageOf(error)}`), undefined);
      } else if (text.includes("\\u") && !isWellFormed(value)) {
        done(new PosternError("invalid_request", "The body holds half of a surrogate pair."), undefined);
      } else {
        done(null, value);
      }
    });
  });
}

function decode(body: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return null; // the only thing that a fatal decoder throws for
  }
}

/** Whether every string in it has a UTF-8 form. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (value === null || typeof value !== "object") return true;
  return Object.entries(value).every(([key, inner]) => key.isWellFormed() && isWellFormed(inner));
}
