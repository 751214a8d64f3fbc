import type { FastifyInstance } from "fastify";
import { PosternError } from "../core/errors.ts";

/** More than any honest request needs: addresses of requests end at 16 KiB. */
export const formLimitBytes = 32 * 1024;

/**
 * Takes forms, and nothing else, for the routes of this scope (`app.register`): a field that was given more than once is an array.
 * @see https://url.spec.whatwg.org/#concept-urlencoded-parser
 */
export function acceptFormsOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "buffer", bodyLimit: formLimitBytes },
    (_request, body: Buffer, done) => {
      const text = decode(body);
      if (text === null) done(new PosternError("invalid_request", "The form is not valid UTF-8."), undefined);
      else done(null, fieldsOf(new URLSearchParams(text)));
    },
  );
}

function fieldsOf(parameters: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name): [string, string | readonly string[]] => {
      const [value = "", ...more] = parameters.getAll(name);
      return [name, more.length === 0 ? value : [value, ...more]];
    }),
  );
}

function decode(body: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return null; // the only thing that a fatal decoder throws for
  }
}
