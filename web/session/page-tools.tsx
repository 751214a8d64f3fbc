import { ChevronDown, ChevronUp, PanelLeft, Search } from "lucide-react";
import { IconButton } from "../ui/button.tsx";
import type { SessionLayout } from "./session-layout.ts";
import { MenuItem, MenuLine } from "./session-menu.tsx";
import type { Jumps } from "./use-jumps.ts";

/** Search and jumps, next to the tabs. On a phone, jumps are in the menu. */
export function ConversationTools({
  onSearch,
  onJump,
}: {
  readonly onSearch: () => void;
  readonly onJump: Jumps["jump"];
}) {
  return (
    <>
      <IconButton label="Search this conversation" icon={Search} onClick={onSearch} />
      <IconButton
        label="Previous prompt"
        icon={ChevronUp}
        onClick={() => onJump("prompt", "previous")}
        className="max-sm:hidden"
      />
      <IconButton
        label="Next prompt"
        icon={ChevronDown}
        onClick={() => onJump("prompt", "next")}
        className="max-sm:hidden"
      />
    </>
  );
}

export function ShowPane({ label, onShow }: { readonly label: string; readonly onShow: () => void }) {
  return <IconButton label={label} icon={PanelLeft} onClick={onShow} />;
}

/** Items of the session's menu that move within the page, or arrange it. */
export function PageItems(props: {
  /** Whether something waits for the user. */
  readonly waits: boolean;
  /** Null if there is only one pane. */
  readonly layout: SessionLayout | null;
  readonly onLayout: (change: Partial<SessionLayout>) => void;
  readonly onJump: Jumps["jump"];
  readonly onRequest: () => void;
}) {
  const { waits, layout, onLayout, onJump, onRequest } = props;
  return (
    <>
      {waits && <MenuItem onSelect={onRequest}>Go to the request</MenuItem>}
      <MenuItem onSelect={() => onJump("prompt", "previous")}>Previous prompt</MenuItem>
      <MenuItem onSelect={() => onJump("prompt", "next")}>Next prompt</MenuItem>
      <MenuItem onSelect={() => onJump("problem", "previous")}>Previous problem</MenuItem>
      <MenuItem onSelect={() => onJump("problem", "next")}>Next problem</MenuItem>
      <MenuLine />
      {layout !== null && (
        <>
          {layout.hidden === "none" ? (
            <>
              <MenuItem onSelect={() => onLayout({ swapped: !layout.swapped })}>Swap sides</MenuItem>
              <MenuItem onSelect={() => onLayout({ hidden: "terminal" })}>Hide terminal</MenuItem>
              <MenuItem onSelect={() => onLayout({ hidden: "conversation" })}>Hide conversation</MenuItem>
            </>
          ) : (
            <MenuItem onSelect={() => onLayout({ hidden: "none" })}>
              {layout.hidden === "terminal" ? "Show terminal" : "Show conversation"}
            </MenuItem>
          )}
          <MenuLine />
        </>
      )}
    </>
  );
}
