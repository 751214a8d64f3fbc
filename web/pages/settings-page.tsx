import { Page } from "../ui/page.tsx";
import { AboutGateway } from "./settings-about.tsx";
import { AppearanceSettings } from "./settings-appearance.tsx";
import { BrowserSettings } from "./settings-browsers.tsx";
import { NotificationSettings } from "./settings-notifications.tsx";
import { PasskeySettings } from "./settings-passkeys.tsx";

/** This browser, the others that are signed in, and the gateway. */
export function SettingsPage() {
  return (
    <Page title="Settings" narrow>
      <AppearanceSettings />
      <NotificationSettings />
      <PasskeySettings />
      <BrowserSettings />
      <AboutGateway />
    </Page>
  );
}
