import type { Finding } from "../wire/doctor.ts";
import { failure, ok, warning } from "./finding.ts";

/** What answers at the gateway's addresses. */
export interface GatewayState {
  /** Its version on its Unix socket; `silent`: it accepts connections and does not respond. */
  readonly socket: { readonly version: string } | "silent" | "free";
  /** On each configured address; `other`: another program. */
  readonly addresses: readonly {
    readonly address: string;
    readonly port: number;
    readonly state: "gateway" | "other" | "free";
    /** The other program; null when unknown. */
    readonly owner: { readonly pid: number; readonly name: string } | null;
  }[];
  /** The version of this command. */
  readonly version: string;
}

/** Whether the gateway responds, or its port is free. */
export function checkGateway({ socket, addresses, version }: GatewayState): readonly Finding[] {
  const taken = addresses.filter(({ state }) => state === "other");
  const [first] = taken;
  if (socket === "silent") {
    const stuck = first?.owner ?? null;
    const fix = stuck === null ? null : `kill -KILL ${stuck.pid}`;
    return [failure("gateway", "The gateway does not respond. End it and start it again; agents keep running.", fix)];
  }
  if (first !== undefined) {
    const who = first.owner === null ? "a program of another user" : `${first.owner.name} (pid ${first.owner.pid})`;
    return [
      failure(
        "port",
        `Port ${first.port} of ${first.address} is in use by ${who}.`,
        `postern serve --port ${first.port + 1}`,
      ),
    ];
  }
  const where = addresses.map(({ address, port }) => `${address} port ${port}`).join(" and ");
  if (socket === "free") {
    if (addresses.some(({ state }) => state === "gateway")) {
      return [
        failure(
          "port",
          `A gateway with another state folder listens on ${where}.`,
          `postern serve --port ${(addresses[0]?.port ?? 0) + 1}`,
        ),
      ];
    }
    return [
      ok(
        "gateway",
        `Not running; ${where} ${addresses.length === 1 ? "is" : "are"} free. Start it with \`postern serve\`.`,
      ),
    ];
  }
  const differs = addresses.length > 0 && addresses.every(({ state }) => state === "free");
  return [
    socket.version === version
      ? ok("gateway", `Version ${version} is running.`)
      : warning(
          "gateway",
          `Version ${socket.version} is running, but this command is ${version}. Restart the gateway; agents keep running.`,
          "postern service install",
        ),
    differs
      ? warning("port", `The running gateway does not listen on ${where}, as configured. Restart it.`, "postern serve")
      : ok("port", `The gateway listens on ${where}.`),
  ];
}

/** @param host null when none is running; `refusal` when it cannot be used */
export function checkTerminalHost(
  host:
    | { readonly pid: number; readonly version: string; readonly liveTerminals: number }
    | { readonly refusal: string }
    | null,
  {
    version,
    gatewayRuns,
    socketPath,
  }: { readonly version: string; readonly gatewayRuns: boolean; readonly socketPath: string },
): readonly Finding[] {
  const check = "terminal host";
  if (host === null) {
    return gatewayRuns
      ? [failure(check, `The gateway is running, but no terminal host listens on ${socketPath}.`, "postern serve")]
      : [ok(check, "Not running. The gateway starts it.")];
  }
  if ("refusal" in host) return [failure(check, host.refusal, "postern coding close --help")];
  const terminals = host.liveTerminals === 1 ? "1 terminal" : `${host.liveTerminals} terminals`;
  const running = `Version ${host.version} (pid ${host.pid}) with ${terminals}`;
  if (host.version === version) return [ok(check, `${running}.`)];
  // An upgrade keeps the old host for its agents.
  return [ok(check, `${running}. It is replaced by version ${version} when its last terminal closes.`)];
}

/** Who can reach the gateway. */
export function checkExposure(facts: {
  readonly exposure: "this_machine" | "https" | "plain_http";
  readonly openHosts: readonly string[];
  readonly insecureHttp: boolean;
  readonly authOn: boolean;
  readonly address: string;
  readonly trustedProxies: number;
}): readonly Finding[] {
  const { exposure, openHosts, address } = facts;
  const check = "exposure";
  if (!facts.authOn) {
    return [
      warning(
        check,
        "POSTERN_AUTH=none: every program and user on this machine can act as you.",
        "env -u POSTERN_AUTH postern serve",
      ),
    ];
  }
  if (exposure === "this_machine") return [ok(check, `Reachable from this machine only, at ${address}.`)];
  if (exposure === "plain_http") {
    const fix = "postern serve --base-url https://<name>";
    if (openHosts.length > 0 && !facts.insecureHttp) {
      return [failure(check, `\`postern serve\` refuses to listen on ${openHosts.join(", ")} over http.`, fix)];
    }
    return [warning(check, `${address} uses http: others on the network can read tokens and terminals.`, fix)];
  }
  if (facts.trustedProxies === 0 && openHosts.length === 0) {
    const message = `${address} is behind a proxy that is not trusted, so all callers share one address and its rate limits.`;
    return [warning(check, message, "POSTERN_TRUSTED_PROXIES=127.0.0.1,::1 postern serve")];
  }
  return [ok(check, `Reachable at ${address}, over https.`)];
}
