import { useMemo } from "react";
import { encode } from "uqr";

/** Quiet zone around a code, in modules (ISO/IEC 18004, 5.3.8). */
const quietModules = 4;

/** Dark on light in both themes, as cameras expect. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, path } = useMemo(() => {
    const { data, size: modules } = encode(text, { ecc: "M", border: quietModules });
    const rows = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")));
    return { size: modules, path: rows.join("") };
  }, [text]);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="size-52 max-w-full self-center rounded-lg"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
