export { createRecordings, type Recordings } from "./recordings.ts";
export { createTerminalViews, type FindTerminal } from "./terminal-views.ts";
export { createSessionTerminals } from "./view-terminal.ts";
export type { Viewer, ViewerLink, ViewRequest, ViewTerminal } from "./viewers.ts";
