/** Whether only the machine that a browser runs on is reached by an address. */
export function isLoopback(address: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$)/.test(address);
}
