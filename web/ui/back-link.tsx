import { ArrowLeft } from "lucide-react";
import { Link } from "react-router";

/** From a page to the list that it belongs to. */
export function BackLink({ to, label }: { readonly to: string; readonly label: string }) {
  return (
    <p className="mb-2 text-xs">
      <Link
        to={to}
        className="inline-flex items-center gap-1 rounded text-ink-soft hover:text-ink hover:underline pointer-coarse:min-h-8"
      >
        <ArrowLeft aria-hidden className="size-3.5" /> {label}
      </Link>
    </p>
  );
}
