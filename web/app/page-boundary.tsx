import { Component, type ReactNode } from "react";
import { messageOf } from "../api/api-error.ts";
import { Button } from "../ui/button.tsx";

/** In the place of a page that could not be shown: mostly a part of it that a newer gateway does not have any more. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override readonly state: { readonly error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main role="alert" className="mx-auto flex max-w-lg flex-col items-start gap-3 px-6 py-16">
        <h1 className="text-lg font-semibold">This page could not be shown</h1>
        <p className="text-sm text-ink-soft">
          Perhaps the gateway was upgraded since it was opened. No session is harmed. The browser says:{" "}
          {messageOf(error)}
        </p>
        <Button variant="primary" onClick={() => window.location.reload()}>
          Load the page again
        </Button>
      </main>
    );
  }
}
