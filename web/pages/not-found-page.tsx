import { Link } from "react-router";
import { EmptyState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";

/** For an address that leads nowhere. */
export function NotFoundPage() {
  return (
    <Page title="No such page">
      <EmptyState title="There is nothing behind this address.">
        <Link to="/" className="text-accent underline">
          Go to the sessions
        </Link>
      </EmptyState>
    </Page>
  );
}
