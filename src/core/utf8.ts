/**
 * The number of bytes (0 to 3) of an incomplete UTF-8 character at the end of `data`. Invalid bytes count as complete; 0xC0, 0xC1 and
 * 0xF5 to 0xF7 count as start bytes, like in xterm.
 */
export function incompleteCharacterBytes(data: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, data.byteLength); back++) {
    const byte = data[data.byteLength - back] ?? 0;
    if (byte >> 6 === 0b10) continue; // inside a character
    const length = byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return back < length ? back : 0;
  }
  return 0;
}
