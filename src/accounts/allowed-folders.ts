import type { FolderScope } from "../wire/access.ts";

/** A folder, and what the folder rule allowed in it. */
export interface AllowedFolder {
  readonly dir: string;
  readonly scope: FolderScope;
}

/** Far more than what stays open works with; a call that goes through all sessions does not stay open. */
const maxFolders = 1_000;

/** The folders that the folder rule allowed a caller in one request or socket, which ends when one of them is taken away. */
export class AllowedFolders {
  readonly #folders = new Map<string, AllowedFolder>();
  readonly #included = new Set<AllowedFolders>();

  note(folder: AllowedFolder): void {
    if (this.#folders.size < maxFolders) this.#folders.set(`${folder.scope} ${folder.dir}`, folder);
  }

  /** Those of another request too, now and later: its answer is given to this one. */
  include(others: AllowedFolders): void {
    if (others !== this) this.#included.add(others);
  }

  list(): readonly AllowedFolder[] {
    return [...this.#folders.values(), ...[...this.#included].flatMap((others) => others.list())];
  }
}
