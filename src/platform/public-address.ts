import { BlockList, isIP } from "node:net";

/**
 * Networks that are not the public internet: this machine, its neighbours, and what has no single owner.
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

// Of IPv6 only what is given out at all; within it, what leads elsewhere.
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

/** Whether this IP address is one of the public internet; an IPv4 address that is written as an IPv6 one never is. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !blocked.check(address, "ipv4");
  return isIP(address) === 6 && unicast.check(address, "ipv6") && !blocked.check(address, "ipv6");
}

/** Hosts, addresses and networks that a person named. */
export interface AddressList {
  hasHost(name: string): boolean;
  hasAddress(address: string): boolean;
}

/** @param entries host names, IP addresses and networks (`10.1.0.0/16`); what is none of these names a host that nobody has */
export function createAddressList(entries: readonly string[]): AddressList {
  const names = new Set<string>();
  const networks = new BlockList();
  for (const entry of entries) {
    const [base = "", prefix] = entry.split("/", 2);
    const version = isIP(base);
    if (version === 0) names.add(entry.toLowerCase());
    else networks.addSubnet(base, prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix), family(base));
  }
  return {
    hasHost: (name) => names.has(name.toLowerCase()),
    hasAddress: (address) => isIP(address) !== 0 && networks.check(address, family(address)),
  };
}

/** Whether `entry` can stand in an {@link AddressList}. */
export function isAddressEntry(entry: string): boolean {
  const [base = "", prefix, ...more] = entry.split("/");
  const version = isIP(base);
  if (version === 0) return prefix === undefined && /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(base);
  const longest = version === 4 ? 32 : 128;
  return more.length === 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= longest));
}

/** Whether `entry` is an IP address or a network; one that holds every address is none. */
export function isNetworkEntry(entry: string): boolean {
  const [base = "", prefix = "32"] = entry.split("/");
  return isAddressEntry(entry) && isIP(base) !== 0 && Number(prefix) > 0;
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
