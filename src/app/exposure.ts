import { PosternError } from "../core/errors.ts";
import { isLoopback } from "../http/known-host.ts";
import type { Config } from "./config.ts";

/**
 * Who can reach a gateway: only this machine; others, through TLS (a proxy in front, at the base URL); or others over http, which who is
 * between them can read and change.
 */
export type Exposure = "this_machine" | "https" | "plain_http";

/** Who reaches a gateway of this configuration, and by which addresses. */
export function exposureOf({ hosts, baseUrl }: Pick<Config, "hosts" | "baseUrl">): {
  readonly exposure: Exposure;
  /** Addresses to listen on, beyond loopback. */
  readonly openHosts: readonly string[];
} {
  const openHosts = hosts.filter((host) => !isLoopback(host));
  const address = baseUrl === null ? null : new URL(baseUrl);
  if (address?.protocol === "https:") return { exposure: "https", openHosts };
  const isPublic = openHosts.length > 0 || (address !== null && !isLoopback(address.hostname));
  return { exposure: isPublic ? "plain_http" : "this_machine", openHosts };
}

/**
 * Nobody listens on a network by mistake.
 * @throws PosternError `unsafe_configuration` for an address beyond loopback without an https base URL, unless `insecureHttp` is set
 */
export function refuseReadableNetwork(config: Pick<Config, "hosts" | "baseUrl" | "insecureHttp">): void {
  const { exposure, openHosts } = exposureOf(config);
  if (config.insecureHttp || openHosts.length === 0 || exposure !== "plain_http") return;
  throw new PosternError(
    "unsafe_configuration",
    `Listening on ${openHosts.join(", ")} over http lets others on the network read tokens and terminals. Omit --host and use a tunnel (ssh -L, Tailscale, cloudflared), or put a proxy with TLS in front and pass its address with --base-url https://… See docs/remote-access.md. On a network that you trust: --insecure-http.`,
  );
}
