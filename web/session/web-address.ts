/** The address, when it is one of http or https and carries no password; else null. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "" ? href : null;
}
