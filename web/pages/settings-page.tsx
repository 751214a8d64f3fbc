import { Minus, Monitor, Moon, Plus, Sun } from "lucide-react";
import { RadioGroup } from "radix-ui";
import { z } from "zod";
import { useMe } from "../api/sign-in.ts";
import { changePreferences, type TextSize, terminalFontRange, textSizes, usePreferences } from "../app/preferences.ts";
import { IconButton } from "../ui/button.tsx";
import { SelectFilter } from "../ui/field.tsx";
import { Page, Section } from "../ui/page.tsx";
import { NotificationSettings } from "./settings-notifications.tsx";
import { RuleSettings } from "./settings-rules.tsx";
import { BrowserSettings, PasskeySettings } from "./settings-sign-in.tsx";

export function SettingsPage() {
  return (
    <Page title="Settings" narrow>
      <AppearanceSettings />
      <NotificationSettings />
      <RuleSettings />
      <PasskeySettings />
      <BrowserSettings />
      <AboutGateway />
    </Page>
  );
}

function AboutGateway() {
  const me = useMe().data;
  if (me === undefined) return null;
  return (
    <Section title="This gateway">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 rounded-xl border border-line bg-panel p-4 text-sm">
        <dt className="text-ink-faint">Version</dt>
        <dd>{me.gateway.version}</dd>
        <dt className="text-ink-faint">Address</dt>
        <dd className="font-mono text-xs leading-[1.375rem]">{me.gateway.baseUrl}</dd>
        <dt className="text-ink-faint">Account</dt>
        <dd>
          {me.account.name}
          {me.account.isOwner ? ", the owner" : ""}
        </dd>
        <dt className="text-ink-faint">For programs</dt>
        <dd className="flex gap-3">
          {/* Not routes of this application: pages of the gateway. */}
          <a href="/docs" className="text-accent underline">
            API reference
          </a>
          <a href="/openapi.json" className="text-accent underline">
            OpenAPI
          </a>
        </dd>
      </dl>
    </Section>
  );
}

const themes = [
  { theme: "system", label: "System", icon: Monitor },
  { theme: "light", label: "Light", icon: Sun },
  { theme: "dark", label: "Dark", icon: Moon },
] as const;

const sizes: Readonly<Record<TextSize, string>> = { standard: "Standard", large: "Large", larger: "Larger" };

const themeSchema = z.enum(["system", "light", "dark"]);

function AppearanceSettings() {
  const { theme, terminalFontPx, textSize } = usePreferences();
  const { min, max } = terminalFontRange;
  return (
    <Section title="Appearance">
      <div className="flex flex-col gap-5 rounded-xl border border-line bg-panel p-4">
        <RadioGroup.Root
          aria-label="Theme"
          value={theme}
          onValueChange={(value) => changePreferences({ theme: themeSchema.parse(value) })}
          className="grid max-w-md grid-cols-3 gap-2"
        >
          {themes.map(({ theme: value, label, icon: Icon }) => (
            <RadioGroup.Item
              key={value}
              value={value}
              className="flex flex-col items-center gap-1.5 rounded-lg border border-line px-2 py-3 text-xs text-ink-soft hover:border-line-strong data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft data-[state=checked]:text-accent"
            >
              <Icon aria-hidden className="size-5" />
              {label}
            </RadioGroup.Item>
          ))}
        </RadioGroup.Root>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <span className="text-sm font-medium">Text size</span>
          <SelectFilter
            label="Text size"
            value={textSize}
            onChange={({ target }) =>
              changePreferences({ textSize: textSizes.find((size) => size === target.value) ?? "standard" })
            }
          >
            {textSizes.map((size) => (
              <option key={size} value={size}>
                {sizes[size]}
              </option>
            ))}
          </SelectFilter>
        </div>
        <div className="flex flex-wrap items-center gap-x-6 gap-y-3">
          <div role="group" aria-label="Terminal font size" className="flex items-center gap-2">
            <span className="text-sm">Terminal font size</span>
            <IconButton
              label="Smaller"
              icon={Minus}
              disabled={terminalFontPx <= min}
              onClick={() => changePreferences({ terminalFontPx: terminalFontPx - 1 })}
            />
            <output className="w-12 text-center text-sm tabular-nums">{terminalFontPx} px</output>
            <IconButton
              label="Larger"
              icon={Plus}
              disabled={terminalFontPx >= max}
              onClick={() => changePreferences({ terminalFontPx: terminalFontPx + 1 })}
            />
          </div>
          {/* React sets this style through the DOM. The page's policy forbids only style attributes in HTML. */}
          <code aria-hidden className="rounded-md bg-well px-3 py-2" style={{ fontSize: terminalFontPx }}>
            $ git log --oneline
          </code>
        </div>
      </div>
    </Section>
  );
}
