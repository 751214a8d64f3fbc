import { isIP } from "node:net";

/** What stands for the owner's Unix socket, whose callers have no address. */
export const localAddress = "local";

/**
 * The address that a request came from, in its shortest form; an IPv4 address that came as an IPv6 one is IPv4 again.
 *
 * @param request `ips` is there with trusted proxies only: from the connection's peer to the farthest that a trusted one named
 */
export function clientAddress({ ip, ips }: { readonly ip?: string; readonly ips?: readonly string[] }): string {
  const named = (ips ?? [ip]).map(plainAddress);
  // What a trusted proxy passed on may be no address at all: then the proxy is the last one known.
  return named.findLast((address) => address !== null) ?? "unknown";
}

/** What shares a limit: an IPv4 address, and of IPv6 the network that one subscriber has (RFC 6177: 64 bits at least). */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail = ""] = address.split("::", 2);
  const before = head.split(":").filter((part) => part !== "");
  const after = tail.split(":").filter((part) => part !== "");
  const missing = address.includes("::") ? 8 - before.length - after.length : 0;
  const parts = [...before, ...Array.from({ length: missing }, () => "0"), ...after];
  return `${parts.slice(0, 4).join(":")}::/64`;
}

/** @returns null for what is no address; some proxies add a port, which is dropped */
function plainAddress(text: string | undefined = ""): string | null {
  const withoutPort = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const [address = ""] = withoutPort.split("%", 1); // an interface, as link-local addresses have it
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : null;
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]);
  return bytes.join(".");
}
