import { useQuery, useQueryClient } from "@tanstack/react-query";
import { BellRing, Share, SquarePlus } from "lucide-react";
import { useState } from "react";
import type { PushSubscriptionRecord } from "../../src/wire/push.ts";
import { usePushSubscriptions, useRemovePushSubscription, useTestPushSubscription } from "../api/push.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { useMe } from "../api/sign-in.ts";
import { notify } from "../app/attention.ts";
import { changePreferences, usePreferences } from "../app/preferences.ts";
import { endpointHashHere, support, turnOffHere, turnOn } from "../push/this-browser.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { Rows } from "../ui/rows.tsx";
import { SwitchField } from "../ui/switch-field.tsx";
import { exactTime, RelativeTime } from "../ui/time.tsx";
import { PushPreferenceFields } from "./push-preferences.tsx";

/** Notifications of this browser, and of all browsers of the account. */
export function NotificationSettings() {
  const me = useMe().data;
  const subscriptions = usePushSubscriptions();
  const here = useQuery({ queryKey: hereKey, queryFn: endpointHashHere, networkMode: "always" });
  const browsers = subscriptions.data?.subscriptions ?? [];
  const mine = browsers.find(({ endpointHash }) => endpointHash === here.data);
  return (
    <Section title="Notifications" description="When an agent needs you or has finished, also when Postern is closed.">
      <div className="flex flex-col gap-3">
        <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-4">
          <ThisBrowser
            accountId={me?.account.accountId}
            mine={mine}
            known={subscriptions.isSuccess && !here.isPending}
          />
          {mine === undefined && <WhileOpen />}
        </div>
        <QueryState query={subscriptions} label="Loading browsers with notifications" rows={1} />
        {browsers.length > 0 && (
          <>
            <Rows label="Browsers with notifications">
              {browsers.map((browser) => (
                <BrowserRow
                  key={browser.subscriptionId}
                  browser={browser}
                  isHere={browser.subscriptionId === mine?.subscriptionId}
                />
              ))}
            </Rows>
            <PushPreferenceFields />
          </>
        )}
      </div>
    </Section>
  );
}

const hereKey = ["push", "here"];

function ThisBrowser(props: {
  readonly accountId: string | undefined;
  readonly mine: PushSubscriptionRecord | undefined;
  readonly known: boolean;
}) {
  const { accountId, mine, known } = props;
  const client = useQueryClient();
  const remove = useRemovePushSubscription();
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: queryKeys.pushSubscriptions }),
      client.invalidateQueries({ queryKey: queryKeys.pushPreferences }),
      client.invalidateQueries({ queryKey: hereKey }),
    ]);
  const change = useAct({
    mutationFn: async (on: boolean) => {
      if (on && accountId !== undefined) return turnOn(accountId);
      if (mine !== undefined) await remove.mutateAsync(mine.subscriptionId);
      return turnOffHere();
    },
    onSettled: refresh,
  });
  const state = support();
  if (state === "needs_home_screen") return <HomeScreenSteps />;
  if (state !== "supported") return <Notice>{unsupportedWords[state]}</Notice>;
  return (
    <>
      <SwitchField
        label="Notify me in this browser"
        hint="Your browser asks for permission the first time."
        checked={change.isPending ? (change.variables ?? false) : mine !== undefined}
        disabled={!known || change.isPending}
        onChange={(on) => change.mutate(on)}
      />
      <ErrorNotice error={change.error} />
    </>
  );
}

const unsupportedWords = {
  insecure:
    "Notifications need https, or localhost. Give the gateway an https address and start it with --base-url, then open Settings at that address.",
  unsupported: "This browser does not support notifications from web pages that are closed.",
} as const;

/** Safari on iPhone and iPad notifies only installed pages. */
function HomeScreenSteps() {
  return (
    <div className="text-sm">
      <p className="font-medium">On iPhone and iPad, add Postern to the Home Screen first</p>
      <ol className="mt-2 flex list-decimal flex-col gap-1.5 pl-5 text-ink-soft">
        <li>
          Tap Share <Share aria-hidden className="inline size-4 align-text-bottom" /> in Safari.
        </li>
        <li>
          Choose Add to Home Screen <SquarePlus aria-hidden className="inline size-4 align-text-bottom" />.
        </li>
        <li>Open Postern from the Home Screen, and sign in there with a link from Settings on your computer.</li>
        <li>There, turn on notifications in Settings.</li>
      </ol>
      <p className="mt-2 text-xs text-ink-faint">Needs iOS or iPadOS 16.4 or later.</p>
    </div>
  );
}

/** For a browser without a subscription. */
function WhileOpen() {
  const { notifications } = usePreferences();
  const [refused, setRefused] = useState(false);
  if (!("Notification" in window)) return null;
  const change = async (on: boolean): Promise<void> => {
    const allowed = on && (await allowNotifications());
    setRefused(on && !allowed);
    changePreferences({ notifications: allowed });
  };
  return (
    <>
      <SwitchField
        label="Notify me while Postern is open in another tab"
        hint="Needs no push service."
        checked={notifications}
        onChange={(on) => void change(on)}
      />
      {refused && (
        <Notice tone="lamp">
          Notifications are blocked. Allow them in your browser's site settings, then try again.
        </Notice>
      )}
    </>
  );
}

async function allowNotifications(): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  return notify("Notifications are on", {
    body: "You will see this when an agent needs you.",
    tag: "postern-test",
    onClick: () => undefined,
  });
}

function BrowserRow({ browser, isHere }: { readonly browser: PushSubscriptionRecord; readonly isHere: boolean }) {
  const { subscriptionId, name, service, createdAt, lastUsedAt, lastError } = browser;
  const client = useQueryClient();
  const test = useTestPushSubscription();
  const remove = useRemovePushSubscription();
  const end = async (): Promise<void> => {
    remove.mutate(subscriptionId);
    if (!isHere) return;
    await turnOffHere();
    await client.invalidateQueries({ queryKey: hereKey });
  };
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <BellRing aria-hidden className="hidden size-4 shrink-0 text-ink-faint sm:block" />
      <div className="min-w-52 flex-1">
        <div className="flex items-center gap-2 font-medium" title={service}>
          {name}
          {isHere && <Badge tone="accent">This browser</Badge>}
        </div>
        <p className="text-2xs text-ink-faint">
          Added {exactTime(createdAt)} ·{" "}
          {lastUsedAt === null ? (
            "nothing sent yet"
          ) : (
            <>
              last notified <RelativeTime at={lastUsedAt} />
            </>
          )}
        </p>
        {lastError !== null && <p className="text-2xs text-danger">{lastError}</p>}
        <ErrorNotice error={test.error ?? remove.error} className="mt-1" />
        <p role="status" className="text-2xs text-ink-soft">
          {test.data !== undefined && testWords(test.data)}
        </p>
      </div>
      <div className="flex gap-2">
        <Button busy={test.isPending} onClick={() => test.mutate(subscriptionId)} aria-label={`Send a test to ${name}`}>
          Send a test
        </Button>
        <Button
          variant="ghost"
          busy={remove.isPending}
          onClick={() => void end()}
          aria-label={`Remove ${name} from notifications`}
        >
          Remove
        </Button>
      </div>
    </li>
  );
}

function testWords({ ok, removed }: { readonly ok: boolean; readonly removed: boolean }): string {
  if (ok) return "The push service accepted it.";
  return removed ? "The push service no longer knows this browser. It was removed." : "";
}
