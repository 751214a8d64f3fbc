import type { Scope } from "./access.ts";

/** What a scope means to a person who gives it. */
export interface ScopeWords {
  /** After “It may …”. */
  readonly short: string;
  /** A sentence or two, with what there is to fear. */
  readonly sentence: string;
}

/** One wording on every page that gives a scope, or shows that it was given. */
export const scopeWords: Readonly<Record<Scope, ScopeWords>> = {
  "coding:read": { short: "read sessions", sentence: "List, search and read sessions; watch their terminals." },
  "coding:write": {
    short: "prompt agents",
    sentence: "Start agents that ask before they act; prompt, interrupt and close them.",
  },
  "coding:drive": {
    short: "drive agents",
    sentence:
      "Type into terminals, answer permissions, start agents that do not ask. Whoever holds it can run commands as you.",
  },
  "logs:read": {
    short: "read what is remembered",
    sentence: "Search and read the memory: what was asked, decided, changed and run in your sessions, and your notes.",
  },
  "logs:write": {
    short: "remember and delete",
    sentence: "Add to the memory, and delete from it for good, with everything that was drawn from it.",
  },
  admin: {
    short: "administer",
    sentence: "Folders, agents, tokens and accounts: everything that is on these pages.",
  },
};
