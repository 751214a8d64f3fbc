const storageName = "postern.push-account";

/** The account whose notifications this browser receives; null for none. */
export function notifiedAccount(): string | null {
  return localStorage.getItem(storageName);
}

export function rememberNotified(accountId: string | null): void {
  if (accountId === null) localStorage.removeItem(storageName);
  else localStorage.setItem(storageName, accountId);
}
