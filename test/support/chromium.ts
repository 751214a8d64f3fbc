import { type Browser, chromium } from "playwright-core";
import { findExecutable } from "../../src/platform/executables.ts";

/** The system's own Chromium, with no window. */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  const executablePath = await findExecutable("chromium", process.env["PATH"] ?? "");
  if (executablePath === null) throw new Error("`chromium` is not on PATH: install Debian's package of that name.");
  return chromium.launch({
    executablePath,
    // Its sandbox refuses root; what the tests show is Postern's own pages.
    args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), "--disable-dev-shm-usage", ...args],
  });
}
