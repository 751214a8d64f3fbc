/** A TOML basic string. JSON's escapes are TOML's, but for DEL, which TOML wants escaped, and half surrogates, which it does not know. */
export function tomlString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007F");
}

/** A TOML inline table; the values are TOML already. */
export function tomlTable(entries: readonly (readonly [key: string, value: string])[]): string {
  return `{${entries.map(([key, value]) => `${tomlString(key)}=${value}`).join(",")}}`;
}
