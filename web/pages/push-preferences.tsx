import type { PushKind, PushPreferences } from "../../src/wire/push.ts";
import { useChangePushPreferences, usePushPreferences } from "../api/push.ts";
import { CheckFields, SelectField, TextField } from "../ui/field.tsx";
import { ErrorNotice, QueryState } from "../ui/notice.tsx";
import { SwitchField } from "../ui/switch-field.tsx";

const kinds: readonly { readonly value: PushKind; readonly label: string; readonly hint: string }[] = [
  { value: "needs_permission", label: "Needs permission", hint: "A permission request, or a plan to approve." },
  { value: "needs_answer", label: "Needs an answer", hint: "A question, a dialog, or a login." },
  { value: "finished", label: "Finished", hint: "A turn ended, and no prompt is queued." },
  { value: "failed", label: "Failed", hint: "A turn or the agent ended with an error." },
  { value: "limited", label: "Limit reached", hint: "The agent has reached its usage limit." },
];

const delays = [
  [0, "Send immediately"],
  [30, "Wait 30 seconds"],
  [60, "Wait 1 minute"],
  [300, "Wait 5 minutes"],
  [600, "Wait 10 minutes"],
] as const;

/** The notification preferences for all browsers of the account. */
export function PushPreferenceFields() {
  const preferences = usePushPreferences();
  const { change, error } = useChangePushPreferences();
  const { data } = preferences;
  return (
    <>
      <QueryState query={preferences} label="Loading notification settings" rows={2} />
      {data !== undefined && (
        <div className="flex flex-col gap-5 rounded-xl border border-line bg-panel p-4">
          <ErrorNotice error={error} />
          <CheckFields
            legend="Notify me when an agent"
            options={kinds}
            chosen={data.kinds}
            onChange={(chosen) => change({ kinds: [...chosen] })}
          />
          <QuietHoursFields quietHours={data.quietHours} onChange={(quietHours) => change({ quietHours })} />
          <SelectField
            label="While Postern is visible on a computer"
            hint="Requests that you answer in this time are not sent to your other browsers."
            className="max-w-sm"
            value={String(data.desktopDelaySeconds)}
            onChange={({ target }) => change({ desktopDelaySeconds: Number(target.value) })}
          >
            {withCurrent(data.desktopDelaySeconds).map(([seconds, words]) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ))}
          </SelectField>
          <SwitchField
            label="Show agent and session title"
            hint="Otherwise, a notification says only that an agent needs you."
            checked={data.showTitles}
            onChange={(showTitles) => change({ showTitles })}
          />
          <SwitchField
            label="Show requests, with Allow and Deny"
            hint="For short requests, such as a command, whose whole text fits in a notification. Your lock screen can show them, and anyone who can use it can answer them."
            checked={data.showRequests}
            onChange={(showRequests) => change({ showRequests })}
          />
        </div>
      )}
    </>
  );
}

/** A value that was set elsewhere can still be selected. */
function withCurrent(seconds: number): readonly (readonly [number, string])[] {
  if (delays.some(([known]) => known === seconds)) return delays;
  return [...delays, [seconds, `Wait ${seconds} seconds`] as const].toSorted(([a], [b]) => a - b);
}

function QuietHoursFields(props: {
  readonly quietHours: PushPreferences["quietHours"];
  readonly onChange: (quietHours: PushPreferences["quietHours"]) => void;
}) {
  const { quietHours, onChange } = props;
  const here = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = [...new Set([here, quietHours?.timeZone ?? here, ...Intl.supportedValuesOf("timeZone")])];
  return (
    <div className="flex flex-col gap-3">
      <SwitchField
        label="Quiet hours"
        hint="Notifications are held back. At the end, one summary shows what still matters."
        checked={quietHours !== null}
        onChange={(on) => onChange(on ? { from: "22:00", to: "07:00", timeZone: here } : null)}
      />
      {quietHours !== null && (
        <div className="flex flex-wrap gap-3 pl-12">
          <TimeField label="From" value={quietHours.from} onChange={(from) => onChange({ ...quietHours, from })} />
          <TimeField label="To" value={quietHours.to} onChange={(to) => onChange({ ...quietHours, to })} />
          <SelectField
            label="Time zone"
            className="w-56"
            value={quietHours.timeZone}
            onChange={({ target }) => onChange({ ...quietHours, timeZone: target.value })}
          >
            {zones.map((zone) => (
              <option key={zone} value={zone}>
                {zone}
              </option>
            ))}
          </SelectField>
        </div>
      )}
    </div>
  );
}

function TimeField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { label, value, onChange } = props;
  return (
    <TextField
      type="time"
      label={label}
      className="w-28"
      required
      value={value}
      // Empty while it is being typed.
      onChange={({ target }) => target.value !== "" && onChange(target.value)}
    />
  );
}
