/** Clamps to whole numbers, 2 to 1000 columns and 1 to 500 rows. */
export function clampSize({ cols, rows }: { readonly cols: number; readonly rows: number }): {
  readonly cols: number;
  readonly rows: number;
} {
  const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, Math.floor(value)));
  return { cols: clamp(cols, 2, 1_000), rows: clamp(rows, 1, 500) };
}
