import type { Finding } from "../wire/doctor.ts";
import { failure, ok, warning } from "./finding.ts";

/** Commands that act on the running gateway. While it runs, plain `postern serve` refuses to start. */
export interface GatewayCommands {
  readonly restart: string;
  /** Restarts it with the installed version. */
  readonly upgrade: string;
  /** Gives it this shell's API keys; null if a restart from this shell does that. */
  readonly keepKeys: string | null;
}

/** What answers at the gateway's addresses. */
export interface GatewayState {
  /** The version of the gateway on its Unix socket; `silent`: it accepts connections but does not respond. */
  readonly socket: { readonly version: string } | "silent" | "free";
  /** Its process; null when none runs, or it is unknown. */
  readonly pid: number | null;
  /** What listens on each of its addresses, or on the configured ones if no gateway runs; `other`: another program. */
  readonly addresses: readonly {
    readonly address: string;
    readonly port: number;
    readonly state: "gateway" | "other" | "free";
    /** The other program; null when unknown. */
    readonly owner: { readonly pid: number; readonly name: string } | null;
  }[];
  /** A free port to use instead of one that is taken; null if none is taken. */
  readonly freePort: number | null;
  /** The version of this command. */
  readonly version: string;
  readonly commands: GatewayCommands;
}

/** Whether the gateway responds, or its port is free. */
export function checkGateway(state: GatewayState): readonly Finding[] {
  if (state.socket === "silent") return [checkSilent(state)];
  return state.socket === "free" ? [checkFreePort(state)] : checkRunning(state.socket.version, state);
}

function checkSilent({ pid, addresses }: GatewayState): Finding {
  const stuck = pid ?? addresses.find(({ owner }) => owner !== null)?.owner?.pid ?? null;
  const message = "The gateway does not respond. End it and start it again; agents keep running.";
  return failure("gateway", message, stuck === null ? null : `kill -KILL ${stuck}`);
}

function checkFreePort({ addresses, freePort }: GatewayState): Finding {
  const taken = addresses.find(({ state }) => state === "other");
  const fix = `postern serve --port ${freePort ?? 0}`;
  if (taken !== undefined) {
    const who = taken.owner === null ? "a program of another user" : `${taken.owner.name} (pid ${taken.owner.pid})`;
    return failure("port", `Port ${taken.port} of ${taken.address} is in use by ${who}.`, fix);
  }
  const where = placesOf(addresses);
  if (addresses.some(({ state }) => state === "gateway")) {
    return failure("port", `A gateway with another state folder listens on ${where}.`, fix);
  }
  const verb = addresses.length === 1 ? "is" : "are";
  return ok("gateway", `Not running; ${where} ${verb} free. Start it with \`postern serve\`.`);
}

function checkRunning(running: string, { addresses, version, commands }: GatewayState): readonly Finding[] {
  const unreachable = addresses.filter(({ state }) => state !== "gateway");
  return [
    running === version
      ? ok("gateway", `Version ${version} is running.`)
      : warning(
          "gateway",
          `Version ${running} is running, but this command is ${version}. Restart the gateway; agents keep running.`,
          commands.upgrade,
        ),
    unreachable.length === 0
      ? ok("port", `The gateway listens on ${placesOf(addresses)}.`)
      : warning(
          "port",
          `The running gateway does not respond on ${placesOf(unreachable)}. Restart it.`,
          commands.restart,
        ),
  ];
}

function placesOf(addresses: GatewayState["addresses"]): string {
  return addresses.map(({ address, port }) => `${address} port ${port}`).join(" and ");
}

/**
 * @param host null when none is running; `refusal` when it cannot be used
 * @param facts `restart`: the command for a running gateway, which starts a host; null when none runs
 */
export function checkTerminalHost(
  host:
    | { readonly pid: number; readonly version: string; readonly liveTerminals: number }
    | { readonly refusal: string; readonly pid: number | null }
    | null,
  {
    version,
    restart,
    socketPath,
  }: { readonly version: string; readonly restart: string | null; readonly socketPath: string },
): readonly Finding[] {
  const check = "terminal host";
  if (host === null) {
    return restart === null
      ? [ok(check, "Not running. The gateway starts it.")]
      : [failure(check, `The gateway is running, but no terminal host listens on ${socketPath}.`, restart)];
  }
  if ("refusal" in host) {
    const message = `${host.refusal} Ending it ends its agents; their sessions can be resumed.`;
    return [failure(check, message, host.pid === null ? null : `kill ${host.pid}`)];
  }
  const terminals = host.liveTerminals === 1 ? "1 terminal" : `${host.liveTerminals} terminals`;
  const running = `Version ${host.version} (pid ${host.pid}) with ${terminals}`;
  if (host.version === version) return [ok(check, `${running}.`)];
  // An upgrade keeps the old host for its agents.
  return [ok(check, `${running}. Version ${version} replaces it when its last terminal closes.`)];
}

/** Who can reach the gateway. */
export function checkExposure(facts: {
  readonly exposure: "this_machine" | "https" | "plain_http";
  readonly openHosts: readonly string[];
  readonly insecureHttp: boolean;
  readonly authOn: boolean;
  readonly address: string;
  readonly trustedProxies: number;
  /** The command that starts or restarts the gateway; ends with `postern serve`. */
  readonly start: string;
}): readonly Finding[] {
  const { exposure, openHosts, address, start } = facts;
  const check = "exposure";
  if (!facts.authOn) {
    return [
      warning(
        check,
        "POSTERN_AUTH=none: every program and user on this machine can act as you.",
        start.replace("postern serve", "POSTERN_AUTH=on postern serve"),
      ),
    ];
  }
  if (exposure === "this_machine") return [ok(check, `Reachable from this machine only, at ${address}.`)];
  if (exposure === "plain_http") {
    const fix = `${start} --base-url https://<name>`;
    if (openHosts.length > 0 && !facts.insecureHttp) {
      return [failure(check, `\`postern serve\` refuses to listen on ${openHosts.join(", ")} over http.`, fix)];
    }
    return [warning(check, `${address} uses http: others on the network can read tokens and terminals.`, fix)];
  }
  if (facts.trustedProxies === 0 && openHosts.length === 0) {
    const message = `${address} is behind a proxy that is not trusted, so all callers share one address and its rate limits.`;
    return [
      warning(check, message, start.replace("postern serve", "POSTERN_TRUSTED_PROXIES=127.0.0.1,::1 postern serve")),
    ];
  }
  return [ok(check, `Reachable at ${address}, over https.`)];
}
