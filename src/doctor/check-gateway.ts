import type { Finding } from "../wire/doctor.ts";
import { failure, ok, warning } from "./finding.ts";

/** What was found at the gateway's addresses. */
export interface GatewayState {
  /** On its Unix socket: its version; `silent` when something is there and does not answer. */
  readonly socket: { readonly version: string } | "silent" | "nobody";
  /** On each address of the configuration. `other`: a program that is no gateway. */
  readonly addresses: readonly {
    readonly address: string;
    readonly port: number;
    readonly state: "gateway" | "other" | "nobody";
    /** Who listens there when it is no gateway that answers; null when the system does not say. */
    readonly owner: { readonly pid: number; readonly name: string } | null;
  }[];
  /** The version of this command. */
  readonly version: string;
}

/** Whether the gateway answers, and whether its port is free for it when it does not run. */
export function checkGateway({ socket, addresses, version }: GatewayState): readonly Finding[] {
  const taken = addresses.filter(({ state }) => state === "other");
  const [first] = taken;
  if (socket === "silent") {
    const stuck = first?.owner ?? null;
    const fix = stuck === null ? null : `kill -KILL ${stuck.pid}`;
    return [failure("gateway", "A gateway runs and does not answer; end it and start another, agents live on.", fix)];
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
  if (socket === "nobody") {
    if (addresses.some(({ state }) => state === "gateway")) {
      return [
        failure(
          "port",
          `A gateway of another state folder listens on ${where}.`,
          `postern serve --port ${(addresses[0]?.port ?? 0) + 1}`,
        ),
      ];
    }
    return [
      ok(
        "gateway",
        `No gateway runs, and ${where} ${addresses.length === 1 ? "is" : "are"} free; \`postern serve\` starts one.`,
      ),
    ];
  }
  const differs = addresses.length > 0 && addresses.every(({ state }) => state === "nobody");
  return [
    socket.version === version
      ? ok("gateway", `Version ${version} answers.`)
      : warning(
          "gateway",
          `Version ${socket.version} runs, and this command is ${version}: start the gateway anew; agents live on.`,
          "postern service install",
        ),
    differs
      ? warning(
          "port",
          `The gateway that runs does not listen on ${where}, where the configuration says.`,
          "postern serve",
        )
      : ok("port", `The gateway listens on ${where}.`),
  ];
}

/** What the host reported; null when none runs, its refusal when it cannot be used. */
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
      ? [failure(check, `The gateway runs and no terminal host listens on ${socketPath}.`, "postern serve")]
      : [ok(check, "None runs; a gateway starts it.")];
  }
  if ("refusal" in host) return [failure(check, host.refusal, "postern coding close --help")];
  const terminals = host.liveTerminals === 1 ? "one terminal" : `${host.liveTerminals} terminals`;
  const running = `Version ${host.version} (pid ${host.pid}) keeps ${terminals}`;
  if (host.version === version) return [ok(check, `${running}.`)];
  // An upgrade leaves it alone, because its agents live on in it.
  return [
    ok(
      check,
      `${running}. This command is ${version}, which is fine: the host makes way for one of it with its last terminal.`,
    ),
  ];
}

/** Who can reach the gateway, and how. */
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
        "POSTERN_AUTH=none: every program and user of this machine may act as you.",
        "env -u POSTERN_AUTH postern serve",
      ),
    ];
  }
  if (exposure === "this_machine") return [ok(check, `This machine only, at ${address}.`)];
  if (exposure === "plain_http") {
    const fix = "postern serve --base-url https://<name>";
    if (openHosts.length > 0 && !facts.insecureHttp) {
      return [failure(check, `\`postern serve\` will not listen on ${openHosts.join(", ")} over http.`, fix)];
    }
    return [warning(check, `${address} is reached over http: who is between can read tokens and terminals.`, fix)];
  }
  if (facts.trustedProxies === 0 && openHosts.length === 0) {
    const message = `${address}, through a proxy that is not named: all its callers share one address and its limits.`;
    return [warning(check, message, "POSTERN_TRUSTED_PROXIES=127.0.0.1,::1 postern serve")];
  }
  return [ok(check, `Reached at ${address}, over https.`)];
}
