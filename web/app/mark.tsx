/** The mark: a small door in a wall, with a light behind its keyhole. */
export function Mark({ className }: { readonly className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 24 24" fill="none" className={className}>
      <path d="M4.5 21.5V10a7.5 7.5 0 0 1 15 0v11.5" className="stroke-ink" strokeWidth="2" strokeLinecap="round" />
      <path d="M1.5 21.5h21" className="stroke-ink" strokeWidth="2" strokeLinecap="round" />
      <circle cx="12" cy="11.5" r="2" className="fill-lamp-fill" />
      <path d="M12 13v4.5" className="stroke-lamp-fill" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}
