import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/** One field of each, as a request of the browser to the library would carry them. */
export type ReplayParameters = Readonly<Record<string, string>>;

/**
 * An authorization request as the library would get it from a browser, without a network: decisions are stateless, so each is asked for
 * anew, with the decision already made.
 * @see RFC 6749 section 4.1.1
 */
export function authorizationRequest(
  path: string,
  parameters: ReplayParameters,
  host: string,
): { readonly request: IncomingMessage; readonly response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  request.method = "GET";
  request.url = `${path}?${new URLSearchParams(parameters)}`;
  // The library looks its session up by a cookie; which one it finds is ours to say.
  request.headers = { host, cookie: "_session=replayed" };
  return { request, response: new ServerResponse(request) };
}
