import type { AuthorizationRequest } from "../oauth/index.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { decisionForm, type FormWay, nameOfClient, whoAsks } from "./decision-form.ts";
import { type Html, html } from "./html.ts";
import { notice, pageOf } from "./page-frame.ts";

/** Where somebody types the code that a device shows. `wrong` says what is wrong with the one before. */
export function codePage(before: { readonly userCode: string; readonly wrong: string | null }): Html {
  const { userCode, wrong } = before;
  const described = wrong === null ? null : html` aria-invalid="true" aria-describedby="wrong"`;
  return pageOf(
    "Connect a device",
    html`<div>
        <h1>Connect a device</h1>
        <p class="lead">A terminal or another device shows a code. Type it here.</p>
      </div>
      <form method="get" action="${oauthPaths.device}" autocomplete="off">
        ${wrong === null ? null : notice("danger", html`<span id="wrong">${wrong}</span>`)}
        <div class="field">
          <label for="user_code">Code</label>
          <input id="user_code" name="user_code" value="${userCode}" required maxlength="40" autocapitalize="characters"
            autocomplete="one-time-code" spellcheck="false" autofocus${described} />
        </div>
        <button class="button primary">Go on</button>
      </form>`,
  );
}

/** The decision on a device that shows `userCode`. */
export function devicePage(page: {
  readonly request: AuthorizationRequest;
  readonly userCode: string;
  readonly way: FormWay;
  readonly noneTicked?: boolean;
}): Html {
  const { request, userCode, way, noneTicked = false } = page;
  return pageOf(
    "Connect a device",
    html`<div>
        <h1>Does the device show this code?</h1>
        <p class="lead">On it, ${nameOfClient(request.client)} asks to use the coding agents on this machine, as you.</p>
      </div>
      <p class="code">${grouped(userCode)}</p>
      <dl class="panel facts">${whoAsks(request)}</dl>
      ${notice(
        "lamp",
        "Allow it only if you see this very code on a device of your own. Somebody who sent you the code or this address wants in themselves.",
      )}
      ${decisionForm({ action: oauthPaths.device, fields: [["user_code", userCode]], request, way, noneTicked })}`,
  );
}

/** After the decision. */
export function deviceDonePage(action: "allow" | "deny"): Html {
  const [title, words] =
    action === "allow"
      ? ["The device is connected", "It goes on by itself in a few seconds. You can close this page."]
      : ["The device was denied", "It is told so. You can close this page."];
  return pageOf(
    title,
    html`<div>
        <h1>${title}</h1>
        <p class="lead" role="status">${words}</p>
      </div>
      <p><a class="button" href="/">To the sessions</a></p>`,
  );
}

/** As devices show it: in two halves. */
function grouped(userCode: string): string {
  const half = userCode.length / 2;
  return userCode.length >= 6 && Number.isInteger(half)
    ? `${userCode.slice(0, half)}-${userCode.slice(half)}`
    : userCode;
}
