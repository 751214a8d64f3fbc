const storageName = "postern.key";

/** The key of this browser's session: it lies in the storage of this origin alone, where pages of other ports cannot read it. */
export function storedKey(): string | null {
  return localStorage.getItem(storageName);
}

export function storeKey(key: string): void {
  localStorage.setItem(storageName, key);
}

export function forgetKey(): void {
  localStorage.removeItem(storageName);
}
