import type { AuthorizationRequest } from "../oauth/index.ts";
import { appScopes, isGraveScope, type Scope, scopeWords } from "../wire/access.ts";
import { decisionKeyField, scopeField, tickedScopesField } from "../wire/oauth.ts";
import type { KeyNeed } from "./deciding.ts";
import {
  claimed,
  claimedText,
  type Html,
  type HtmlPart,
  html,
  mixesAlphabets,
  notice,
  signInAndBack,
} from "./page-frame.ts";

/** How a decision form is submitted. */
export interface FormWay {
  /** Path and query of the page, to which a sign-in returns. */
  readonly back: string;
  /** The decisions that require the browser's key, and therefore JavaScript. */
  readonly keyNeededFor: KeyNeed;
  /** The account that decides. */
  readonly accountName: string;
}

/** The scopes that can be granted, and the buttons Allow and Deny. */
export function decisionForm(form: {
  readonly action: string;
  /** Hidden fields. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly request: AuthorizationRequest;
  readonly way: FormWay;
  /** True if the form was submitted without a selected scope. */
  readonly noneTicked?: boolean;
}): Html {
  const { action, fields, request, way, noneTicked = false } = form;
  const needsKey = way.keyNeededFor === "decision";
  const disabled = needsKey ? " disabled" : null;
  const grave =
    way.keyNeededFor === "drive" ? request.scopes.map(({ scope }) => scope).filter((scope) => isGraveScope(scope)) : [];
  const nothing = request.scopes.length === 0;
  const hidden = [...fields, [decisionKeyField, ""], [tickedScopesField, "ticked"]] as const;
  return html`<form method="post" action="${action}" autocomplete="off" data-decision data-needs-key="${String(needsKey)}" data-back="${way.back}">
        ${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        ${nothing ? notice("lamp", nothingToGive) : scopeRows(request, noneTicked)}
        ${needsKey ? html`<noscript>${notice("lamp", scriptNeeded)}</noscript>` : null}
        ${grave.length > 0 ? graveNeedsKey(grave, way.back) : null}
        <div class="buttons">
          <button class="button" name="action" value="deny"${disabled}>Deny</button>
          ${nothing ? null : html`<button class="button primary" name="action" value="allow"${disabled}>Allow</button>`}
        </div>
        <p id="sent" role="status" class="lead" hidden>Your answer was sent to the app. You can close this page.</p>
        <p class="faint">You are signed in as ${claimed(way.accountName)}. You can revoke access at any time under Connected apps.</p>
      </form>`;
}

const nothingToGive = "Your account does not have any of the requested scopes, so there is nothing to allow.";

function scopeRows({ scopes }: AuthorizationRequest, noneTicked: boolean): Html {
  return html`<fieldset>
          <legend>It can</legend>
          <div class="panel">${scopes.map(({ scope, ticked }) => scopeRow(scope, ticked && !noneTicked))}</div>
        </fieldset>
        ${notice("danger", "Select at least one permission, or deny the request.", { id: "none-ticked", hidden: !noneTicked })}`;
}

/** The script shows the second notice if the browser has no key. */
function graveNeedsKey(grave: readonly Scope[], back: string): Html {
  const names = grave.map((scope) => `“${scopeWords[scope].short}”`).join(" and ");
  const signIn = html`<a href="${signInAndBack(back)}">Sign in again</a>`;
  return html`<noscript>${notice("lamp", html`${names} cannot be allowed without JavaScript.`)}</noscript>
        ${notice("lamp", html`This browser’s key is missing, so ${names} cannot be allowed. ${signIn} to allow it.`, { id: "no-key", hidden: true })}`;
}

const scriptNeeded =
  "Over plain http, this form needs JavaScript to prove that the page belongs to the gateway. Enable it for this page, or open the gateway over https.";

function scopeRow(scope: Scope, ticked: boolean): Html | null {
  if (scope === "admin") return null; // never granted to apps
  const { short, sentence } = scopeWords[scope];
  const id = scopeField(scope);
  const hint = `${id}-hint`;
  return html`<label class="scope${isGraveScope(scope) ? " drive" : null}">
            <input type="checkbox" name="${id}"${ticked ? " checked" : null} aria-describedby="${hint}" />
            <span class="text">
              <span class="title"><span>${short}</span> <code class="name">${scope}</code></span>
              <span class="hint" id="${hint}">${sentence}</span>
            </span>
          </label>`;
}

/** The client and its origin, as a row of the list. */
export function whoAsks({ client }: Pick<AuthorizationRequest, "client">): Html {
  const mixed = mixesAlphabets(client.name)
    ? html`<span class="faint">Careful: this name mixes letters of different alphabets.</span>`
    : null;
  return html`<div><dt>App</dt><dd><strong>${nameOfClient(client)}</strong>${mixed}<span class="faint">${howKnown(client)}</span></dd></div>`;
}

/** The client's name, quoted so that it cannot be read as part of our sentence. */
export function nameOfClient({ name }: Pick<AuthorizationRequest["client"], "name">): Html {
  return claimedText(name) === "" ? html`an unnamed app` : html`“${claimed(name)}”`;
}

function howKnown({ clientId, origin }: AuthorizationRequest["client"]): HtmlPart {
  if (origin === "added") return "You added this app.";
  if (origin === "registered") return "It registered itself. The name is not verified.";
  const host = URL.canParse(clientId) ? new URL(clientId).host : clientId;
  return html`Verified by <span class="host">${host}</span>.`;
}

/** The scopes selected by checkboxes; null if the form has none. */
export function tickedScopes(form: Readonly<Record<string, unknown>>): readonly Scope[] | null {
  if (form[tickedScopesField] === undefined) return null;
  return appScopes.filter((scope) => form[scopeField(scope)] !== undefined);
}
