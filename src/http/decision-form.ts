import type { AuthorizationRequest } from "../oauth/index.ts";
import { appScopes, type Scope, scopeWords } from "../wire/access.ts";
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

/** How the form of a decision reaches the gateway. */
export interface FormWay {
  /** The address of the page itself, path and query: where a sign-in leads back to. */
  readonly back: string;
  /** What needs the key of the origin's storage, and so JavaScript. */
  readonly keyNeededFor: KeyNeed;
  /** Who decides. */
  readonly accountName: string;
}

/** The form of a decision: what may be granted, and the two answers. */
export function decisionForm(form: {
  readonly action: string;
  /** Sent along as they are. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly request: AuthorizationRequest;
  readonly way: FormWay;
  /** When the form came back without a tick. */
  readonly noneTicked?: boolean;
}): Html {
  const { action, fields, request, way, noneTicked = false } = form;
  const needsKey = way.keyNeededFor === "decision";
  const disabled = needsKey ? " disabled" : null;
  const drives = way.keyNeededFor === "drive" && request.scopes.some(({ scope }) => scope === "coding:drive");
  const nothing = request.scopes.length === 0;
  const hidden = [...fields, [decisionKeyField, ""], [tickedScopesField, "ticked"]] as const;
  return html`<form method="post" action="${action}" autocomplete="off" data-decision data-needs-key="${String(needsKey)}" data-back="${way.back}">
        ${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        ${nothing ? notice("lamp", nothingToGive) : scopeRows(request, noneTicked)}
        ${needsKey ? html`<noscript>${notice("lamp", scriptNeeded)}</noscript>` : null}
        ${drives ? driveNeedsKey(way.back) : null}
        <div class="buttons">
          <button class="button" name="action" value="deny"${disabled}>Deny</button>
          ${nothing ? null : html`<button class="button primary" name="action" value="allow"${disabled}>Allow</button>`}
        </div>
        <p id="sent" role="status" class="lead" hidden>Your answer is on its way to the program that asked. You can close this page.</p>
        <p class="faint">You are signed in as ${claimed(way.accountName)}. Whoever you let in can be thrown out again at any time, under Connected apps.</p>
      </form>`;
}

const nothingToGive = "Your account holds nothing of what it asks for, so there is nothing that you can allow.";

function scopeRows({ scopes }: AuthorizationRequest, noneTicked: boolean): Html {
  return html`<fieldset>
          <legend>It may</legend>
          <div class="panel">${scopes.map(({ scope, ticked }) => scopeRow(scope, ticked && !noneTicked))}</div>
        </fieldset>
        ${notice("danger", "Tick at least one thing that it may do, or deny it.", { id: "none-ticked", hidden: !noneTicked })}`;
}

/** The script shows the second where it finds no key. */
function driveNeedsKey(back: string): Html {
  const signIn = html`<a href="${signInAndBack(back)}">Sign in again</a>`;
  return html`<noscript>${notice("lamp", html`Without JavaScript “${scopeWords["coding:drive"].short}” cannot be allowed.`)}</noscript>
        ${notice("lamp", html`This browser’s sign-in has lost its key, so “${scopeWords["coding:drive"].short}” cannot be allowed. ${signIn} to allow it.`, { id: "no-key", hidden: true })}`;
}

const scriptNeeded =
  "Over plain http, deciding needs JavaScript: it shows that this page is the gateway’s own. Switch it on for this page, or open the gateway over https.";

function scopeRow(scope: Scope, ticked: boolean): Html | null {
  if (scope === "admin") return null; // no app may have it
  const { short, sentence } = scopeWords[scope];
  const id = scopeField(scope);
  const hint = `${id}-hint`;
  return html`<label class="scope${scope === "coding:drive" ? " drive" : null}">
            <input type="checkbox" name="${id}"${ticked ? " checked" : null} aria-describedby="${hint}" />
            <span class="text">
              <span class="title"><span>${short}</span> <code class="name">${scope}</code></span>
              <span class="hint" id="${hint}">${sentence}</span>
            </span>
          </label>`;
}

/** Who asks, and how they are known, as rows of a list. */
export function whoAsks({ client }: Pick<AuthorizationRequest, "client">): Html {
  const mixed = mixesAlphabets(client.name)
    ? html`<span class="faint">Careful: the name mixes letters of different alphabets.</span>`
    : null;
  return html`<div><dt>Who asks</dt><dd><strong>${nameOfClient(client)}</strong>${mixed}<span class="faint">${howKnown(client)}</span></dd></div>`;
}

/** Its own name for itself, fit to be shown: in quotes, so that no name reads on as a sentence of ours. */
export function nameOfClient({ name }: Pick<AuthorizationRequest["client"], "name">): Html {
  return claimedText(name) === "" ? html`an app without a name` : html`“${claimed(name)}”`;
}

function howKnown({ clientId, origin }: AuthorizationRequest["client"]): HtmlPart {
  if (origin === "added") return "You added it yourself, so the name is yours.";
  if (origin === "registered") return "It registered itself here. The name is its own claim: nobody has checked it.";
  const host = URL.canParse(clientId) ? new URL(clientId).host : clientId;
  return html`It describes itself at <span class="host">${host}</span>, which vouches for the name.`;
}

/** What a form's check boxes grant; null when it has none, as the seed's form. */
export function tickedScopes(form: Readonly<Record<string, unknown>>): readonly Scope[] | null {
  if (form[tickedScopesField] === undefined) return null;
  return appScopes.filter((scope) => form[scopeField(scope)] !== undefined);
}
