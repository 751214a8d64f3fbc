/** How many bytes at the end of `data` begin a UTF-8 character that is not complete: 0 to 3. */
export function incompleteCharacterBytes(data: Uint8Array): number {
  const longest = Math.min(3, data.byteLength);
  for (let back = 1; back <= longest; back++) {
    const byte = data[data.byteLength - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // inside a character
    const length = byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return byte < 0xf8 && length > back ? back : 0;
  }
  return 0;
}
