import { type Browser, chromium } from "playwright-core";
import { findExecutable } from "../../src/platform/executables.ts";

/** The system's own Chromium, with no window. */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  return launch(await programOnPath("chromium"), args);
}

/**
 * The same Chromium without all that makes windows, where the system has it: a page in it takes half the processor's time.
 * Otherwise as {@link launchChromium}.
 */
export async function launchHeadlessShell(args: readonly string[] = []): Promise<Browser> {
  return launch((await programOnPath("chromium-headless-shell")) ?? (await programOnPath("chromium")), args);
}

function programOnPath(name: string): Promise<string | null> {
  return findExecutable(name, process.env["PATH"] ?? "");
}

async function launch(executablePath: string | null, args: readonly string[]): Promise<Browser> {
  if (executablePath === null) throw new Error("`chromium` is not on PATH: install Debian's package of that name.");
  return chromium.launch({
    executablePath,
    // Its sandbox refuses root; what the tests show is Postern's own pages.
    args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), "--disable-dev-shm-usage", ...args],
  });
}
