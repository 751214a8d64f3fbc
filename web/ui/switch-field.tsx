import { Switch as RadixSwitch } from "radix-ui";
import { type ReactNode, useId } from "react";
import { classNames } from "./class-names.ts";
import { SideLabel } from "./field.tsx";

export function SwitchField(props: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}) {
  const { label, hint, checked, onChange, disabled = false } = props;
  const id = useId();
  return (
    <div className={classNames("flex gap-3", hint === undefined ? "items-center" : "items-start")}>
      <RadixSwitch.Root
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        checked={checked}
        disabled={disabled}
        onCheckedChange={onChange}
        className={classNames(
          hint !== undefined && "mt-0.5",
          "relative h-5 w-9 shrink-0 rounded-full border border-line-strong bg-well data-[state=checked]:border-transparent data-[state=checked]:bg-accent-fill disabled:opacity-50",
        )}
      >
        <RadixSwitch.Thumb className="block size-3.5 translate-x-0.5 rounded-full bg-ink-faint transition-transform data-[state=checked]:translate-x-[1.1rem] data-[state=checked]:bg-accent-ink" />
      </RadixSwitch.Root>
      <SideLabel {...{ id, label, hint }} />
    </div>
  );
}
