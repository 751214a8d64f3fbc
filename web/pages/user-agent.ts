/** A browser and its system as people call them, from what it says of itself. */
export function browserName(userAgent: string): string {
  const browser = first(userAgent, [
    [/\bEdgA?\/|\bEdgiOS\//, "Edge"],
    [/\bOPR\//, "Opera"],
    [/\bSamsungBrowser\//, "Samsung Internet"],
    [/\bFirefox\/|\bFxiOS\//, "Firefox"],
    [/\bHeadlessChrome\//, "Chrome (headless)"],
    [/\bChrome\/|\bCriOS\//, "Chrome"],
    [/\bSafari\//, "Safari"],
  ]);
  const system = first(userAgent, [
    [/\biPhone\b/, "iPhone"],
    [/\biPad\b/, "iPad"],
    [/\bAndroid\b/, "Android"],
    [/\bWindows\b/, "Windows"],
    [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
    [/\bCrOS\b/, "ChromeOS"],
    [/\bLinux\b/, "Linux"],
  ]);
  if (browser === null) return system ?? (userAgent === "" ? "Unknown browser" : userAgent.slice(0, 60));
  return system === null ? browser : `${browser} on ${system}`;
}

function first(text: string, names: readonly (readonly [RegExp, string])[]): string | null {
  return names.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
