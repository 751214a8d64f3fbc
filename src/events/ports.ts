/** Whether events of a session in this directory may be seen by who is limited to `within` (real paths; null: no limit). */
export type IsVisibleDir = (dir: string, within: readonly string[] | null) => Promise<boolean>;
