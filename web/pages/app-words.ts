/** Where an app was let in to, as a person would say it: `host` is that of its redirect, null for a device. */
export function letInTo(host: string | null): string {
  if (host === null) return "On a device, by its code";
  if (host.endsWith(":")) return `A program of your device (${host})`;
  return isThisMachine(host) ? `A program of the browser’s machine (${host})` : `At ${host}`;
}

/** The host that describes a client whose id is the address of its metadata; null for others. */
export function documentHost(clientId: string): string | null {
  return /^https?:\/\//.test(clientId) && URL.canParse(clientId) ? new URL(clientId).host : null;
}

function isThisMachine(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host);
}
