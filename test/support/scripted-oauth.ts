import { PosternError } from "../../src/core/errors.ts";
import type { AuthorizationRequest, Decider, OAuth } from "../../src/oauth/index.ts";
import type { Scope } from "../../src/wire/access.ts";

/** A decision as it reached the authorization server. */
export interface SeenDecision {
  readonly form: Readonly<Record<string, string>>;
  readonly decider: Decider;
}

/** An authorization server that knows one client and one device, and records its requests. */
export interface ScriptedOAuth {
  readonly oauth: Pick<OAuth, "decide" | "decideDevice" | "describe" | "describeDevice">;
  /** Decisions, the last one last. */
  readonly seen: SeenDecision[];
  /** The accounts that decided on the device, in the same order. */
  readonly deviceDeciders: Decider[];
  readonly devices: { readonly userCode: string; readonly action: string; readonly scopes: readonly Scope[] }[];
}

/** The one client's redirect. */
export const scriptedRedirect = "https://app.example/callback";
/** The one device's code, as the server knows it. */
export const scriptedUserCode = "BCDFGHJK";

/** @param changes to the shown request of the one client */
export function scriptOAuth(changes: Partial<AuthorizationRequest> = {}): ScriptedOAuth {
  const seen: SeenDecision[] = [];
  const devices: ScriptedOAuth["devices"][number][] = [];
  const deviceDeciders: Decider[] = [];
  const request: AuthorizationRequest = {
    client: { clientId: "app", name: "Nightly bot", origin: "registered" },
    destination: "app.example",
    scopes: [
      { scope: "coding:read", ticked: true },
      { scope: "coding:write", ticked: true },
      { scope: "coding:drive", ticked: false },
    ],
    ...changes,
  };

  function checkPlace(form: URLSearchParams): void {
    if (form.get("client_id") === "app" && form.get("redirect_uri") === scriptedRedirect) return;
    throw new PosternError("invalid_request", "The client or its redirect are not known.");
  }

  function answer(form: URLSearchParams): Record<string, string> {
    const action = form.get("action");
    if (action === "deny") return { error: "access_denied" };
    return action === "allow" ? { code: "the-code" } : { error: "invalid_request" };
  }

  return {
    seen,
    devices,
    deviceDeciders,
    oauth: {
      async describe(parameters) {
        checkPlace(parameters);
        if (parameters.get("scope") === "everything") return { location: `${scriptedRedirect}?error=invalid_scope` };
        return { request };
      },
      async decide(form, decider) {
        seen.push({ form: Object.fromEntries(form), decider });
        checkPlace(form);
        const query = new URLSearchParams({ ...answer(form), state: form.get("state") ?? "", iss: "http://gateway" });
        return { location: `${scriptedRedirect}?${query.toString()}` };
      },
      async describeDevice(userCode) {
        if (userCode !== scriptedUserCode) throw new PosternError("invalid_request", "No such code.");
        return { ...request, destination: null };
      },
      async decideDevice(decision, decider) {
        if (decision.userCode !== scriptedUserCode) throw new PosternError("invalid_request", "No such code.");
        devices.push(decision);
        deviceDeciders.push(decider);
      },
    },
  };
}
