import { BlockList, isIP } from "node:net";

/**
 * Networks that are not the public internet.
 * @see the IANA registries of special-purpose IPv4 and IPv6 addresses (RFC 6890)
 */
const special: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8], // "this network"; 0.0.0.0 reaches this machine
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local; also where clouds serve a machine's credentials
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
];

// Of the IPv6 addresses, only global unicast is public, without the special networks in it.
const globalUnicast = ["2000::", 3] as const;
const specialV6: readonly (readonly [string, number])[] = [
  ["2001::", 23], // Teredo, ORCHID and others
  ["2001:db8::", 32],
  ["2002::", 16], // 6to4: an IPv4 address inside
  ["3fff::", 20],
];

const blocked = new BlockList();
for (const [net, prefix] of special) blocked.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of specialV6) blocked.addSubnet(net, prefix, "ipv6");
const unicast = new BlockList();
unicast.addSubnet(...globalUnicast, "ipv6");

/** Whether this IP address is public; an IPv4 address written as IPv6 never is. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !blocked.check(address, "ipv4");
  return isIP(address) === 6 && unicast.check(address, "ipv6") && !blocked.check(address, "ipv6");
}

/** Names that never exist in public DNS (RFC 2606, 6761, 6762, 7686, 8375; ICANN for `internal`). */
const reservedNames = ["test", "example", "invalid", "localhost", "local", "internal", "onion", "home.arpa"];

/** Whether this name can exist in public DNS, without looking it up. */
export function canBePublicName(host: string): boolean {
  const name = host.toLowerCase();
  if (reservedNames.some((reserved) => name === reserved || name.endsWith(`.${reserved}`))) return false;
  const labels = name.split(".");
  return labels.length > 1 && name.length <= 253 && labels.every((label) => label !== "" && label.length <= 63);
}
