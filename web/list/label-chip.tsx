import { X } from "lucide-react";

/** The same label always has the same colour. Lightness is fixed, so that its text has enough contrast in both themes. */
export function labelHue(label: string): number {
  let hash = 0;
  for (const character of label) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return hash;
}

export function LabelChip({ label, onRemove }: { readonly label: string; readonly onRemove?: () => void }) {
  const hue = labelHue(label);
  return (
    <span
      style={{
        backgroundColor: `light-dark(oklch(0.94 0.04 ${hue}), oklch(0.3 0.05 ${hue}))`,
        color: `light-dark(oklch(0.38 0.1 ${hue}), oklch(0.88 0.07 ${hue}))`,
      }}
      className="inline-flex max-w-40 shrink-0 items-center gap-1 rounded px-1.5 text-2xs leading-[1.125rem] font-medium"
    >
      <span className="truncate">{label}</span>
      {onRemove !== undefined && (
        <button type="button" aria-label={`Remove label ${label}`} onClick={onRemove} className="-mr-0.5 rounded p-0.5">
          <X aria-hidden className="size-3" />
        </button>
      )}
    </span>
  );
}
