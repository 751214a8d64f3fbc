import type { AuthorizationRequest } from "../oauth/index.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { decisionForm, type FormWay, nameOfClient, whoAsks } from "./decision-form.ts";
import { type Html, html } from "./html.ts";
import { isLoopback } from "./known-host.ts";
import { claimed, notice, pageOf } from "./page-frame.ts";

/** `GET /oauth/authorize`: who asks, for what, where the answer goes, and the owner's decision. */
export function consentPage(page: {
  readonly request: AuthorizationRequest;
  /** The protocol's own, which the decision repeats. */
  readonly parameters: URLSearchParams;
  readonly way: FormWay;
  readonly noneTicked?: boolean;
}): Html {
  const { request, parameters, way, noneTicked = false } = page;
  const name = nameOfClient(request.client);
  return pageOf(
    "Let an app in?",
    html`<div>
        <h1>Let ${name} in?</h1>
        <p class="lead">It asks to use the coding agents on this machine, as you.</p>
      </div>
      <dl class="panel facts">
        ${whoAsks(request)}
        ${request.destination === null ? null : destinationRow(request.destination)}
      </dl>
      ${request.destination !== null && isOfThisMachine(request.destination) ? machineNotice : null}
      ${decisionForm({ action: oauthPaths.authorize, fields: [...parameters], request, way, noneTicked })}`,
  );
}

function destinationRow(destination: string): Html {
  return html`<div><dt>Leads to</dt><dd>${
    isOfThisMachine(destination)
      ? html`a program on this computer <span class="host">${claimed(destination, 120)}</span>`
      : html`<span class="host">${claimed(destination, 260)}</span>`
  }</dd></div>`;
}

const machineNotice = notice(
  "lamp",
  "Any program on this computer can ask like this, under any name. Allow it only if you started this yourself, just now.",
);

/** A scheme of its own, or a host that leads back to the browser's own machine. */
function isOfThisMachine(destination: string): boolean {
  const address = `http://${destination}`;
  return destination.endsWith(":") || (URL.canParse(address) && isLoopback(new URL(address).hostname));
}
