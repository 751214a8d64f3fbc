import { useState } from "react";
import { notify } from "../app/attention.ts";
import { changePreferences, usePreferences } from "../app/preferences.ts";
import { Notice } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { SwitchField } from "../ui/switch-field.tsx";

type Refusal = "none" | "denied" | "unsupported";

const refusals: Readonly<Record<Exclude<Refusal, "none">, string>> = {
  denied: "This browser forbids notifications of this page. Allow them in the settings of the site, then try again.",
  unsupported:
    "This browser shows no notifications of this page. It needs https or localhost, and phones show none at all: there, the number in the title says who waits.",
};

/** Being told while one looks elsewhere; asked for by a press, and only then. */
export function NotificationSettings() {
  const { notifications } = usePreferences();
  const [refusal, setRefusal] = useState<Refusal>("none");

  const change = async (on: boolean): Promise<void> => {
    if (!on) {
      changePreferences({ notifications: false });
      return;
    }
    const outcome = await allowNotifications();
    setRefusal(outcome);
    changePreferences({ notifications: outcome === "none" });
  };
  return (
    <Section title="Notifications">
      <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-4">
        <SwitchField
          label="Tell me when an agent needs me or has finished"
          hint="While one of these pages is open, and you look at something else."
          checked={notifications}
          onChange={(on) => void change(on)}
        />
        {refusal !== "none" && <Notice tone="lamp">{refusals[refusal]}</Notice>}
      </div>
    </Section>
  );
}

async function allowNotifications(): Promise<Refusal> {
  if (!("Notification" in window)) return "unsupported";
  if ((await Notification.requestPermission()) !== "granted") return "denied";
  const shown = notify("Notifications are on", {
    body: "So it looks when an agent needs you.",
    tag: "postern-test",
    onClick: () => undefined,
  });
  return shown ? "none" : "unsupported";
}
