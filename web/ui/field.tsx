import { Search } from "lucide-react";
import { type ComponentProps, type ReactNode, useEffect, useId, useState } from "react";
import { classNames } from "./class-names.ts";

const control =
  "w-full min-w-0 rounded-md border border-line-strong bg-raised px-2.5 text-sm text-ink placeholder:text-ink-faint aria-invalid:border-danger disabled:opacity-60";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Announced with the field. */
  readonly error?: string | undefined;
  readonly className?: string | undefined;
}

/** A control with its label above it, and its notes below. */
export function Field({
  id,
  label,
  hint,
  error,
  className,
  children,
}: FieldProps & { readonly id: string; readonly children: ReactNode }) {
  return (
    <div className={classNames("flex min-w-0 flex-col gap-1", className)}>
      <label htmlFor={id} className="text-xs font-medium text-ink-soft">
        {label}
      </label>
      {children}
      <FieldNotes {...{ id, hint, error }} />
    </div>
  );
}

/** Error and hint of a field, with the ids `<id>-error` and `<id>-hint`. */
export function FieldNotes({ id, hint, error }: Pick<FieldProps, "hint" | "error"> & { readonly id: string }) {
  return (
    <>
      {error !== undefined && (
        <p id={`${id}-error`} className="text-xs text-danger">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-ink-faint">
          {hint}
        </p>
      )}
    </>
  );
}

/** Attributes that connect a field to its {@link FieldNotes}. */
export function described(id: string, { hint, error }: Pick<FieldProps, "hint" | "error">) {
  const names = [error !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`].filter(
    (name) => name !== false,
  );
  return {
    id,
    "aria-invalid": error === undefined ? undefined : true,
    "aria-describedby": names.length === 0 ? undefined : names.join(" "),
  };
}

export function TextField({ label, hint, error, className, ...rest }: FieldProps & ComponentProps<"input">) {
  const id = useId();
  return (
    <Field {...{ id, label, hint, error, className }}>
      <input
        type="text"
        autoComplete="off"
        {...rest}
        {...described(id, { hint, error })}
        className={`${control} h-9`}
      />
    </Field>
  );
}

export function TextArea({ label, hint, error, className, ...rest }: FieldProps & ComponentProps<"textarea">) {
  const id = useId();
  return (
    <Field {...{ id, label, hint, error, className }}>
      <textarea rows={4} {...rest} {...described(id, { hint, error })} className={`${control} resize-y py-2`} />
    </Field>
  );
}

export function SelectField({ label, hint, error, className, ...rest }: FieldProps & ComponentProps<"select">) {
  const id = useId();
  return (
    <Field {...{ id, label, hint, error, className }}>
      <select {...rest} {...described(id, { hint, error })} className={`${control} h-9`} />
    </Field>
  );
}

/** A select for a row of filters; its label is not visible. */
export function SelectFilter({ label, className, ...rest }: ComponentProps<"select"> & { readonly label: string }) {
  return (
    <select
      aria-label={label}
      title={label}
      {...rest}
      className={classNames(
        "h-8 max-w-full min-w-0 rounded-md border border-line bg-raised px-2 text-xs text-ink-soft hover:border-line-strong pointer-coarse:h-10",
        className,
      )}
    />
  );
}

export function CheckField({
  label,
  hint,
  ...rest
}: ComponentProps<"input"> & { readonly label: ReactNode; readonly hint?: ReactNode }) {
  const id = useId();
  return (
    <div className="flex items-start gap-2.5 py-1">
      <input
        type="checkbox"
        {...rest}
        {...described(id, { hint, error: undefined })}
        className="mt-1 size-4 shrink-0 accent-accent-fill"
      />
      <SideLabel {...{ id, label, hint }} />
    </div>
  );
}

export function CheckFields<Value extends string>(props: {
  readonly legend: string;
  readonly options: readonly { readonly value: Value; readonly label: ReactNode; readonly hint: string }[];
  readonly chosen: readonly Value[];
  readonly onChange: (chosen: readonly Value[]) => void;
}) {
  const { legend, options, chosen, onChange } = props;
  return (
    <fieldset>
      <legend className="mb-1 text-xs font-medium text-ink-soft">{legend}</legend>
      {options.map(({ value, label, hint }) => (
        <CheckField
          key={value}
          label={label}
          hint={hint}
          checked={chosen.includes(value)}
          onChange={({ target }) =>
            onChange(target.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
          }
        />
      ))}
    </fieldset>
  );
}

/** A label with its hint, for a row with the control at the side. */
export function SideLabel({ id, label, hint }: Readonly<{ id: string; label: ReactNode; hint: ReactNode }>) {
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <FieldNotes {...{ id, hint }} />
    </div>
  );
}

export function Form({
  onSubmit,
  ...rest
}: Omit<ComponentProps<"form">, "onSubmit"> & { readonly onSubmit: () => void }) {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    />
  );
}

/** A search input whose label is not visible. Escape leaves it when empty. */
export function SearchField({
  label,
  typed,
  onTyped,
  ...rest
}: Pick<ComponentProps<"input">, "ref" | "maxLength"> & {
  readonly label: string;
  readonly typed: string;
  readonly onTyped: (text: string) => void;
}) {
  return (
    <div className="relative">
      <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-ink-faint" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        {...rest}
        value={typed}
        onChange={(event) => onTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && typed === "") event.currentTarget.blur();
        }}
        className="h-9 w-full rounded-lg border border-line-strong bg-raised pr-3 pl-9 placeholder:text-ink-faint"
      />
    </div>
  );
}

/** `value`, once it has stayed the same for `delayMs`. */
export function useSettled(value: string, delayMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
}
