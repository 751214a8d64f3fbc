/** What is kept running: one gateway, with absolute paths. */
export interface ServiceSpec {
  readonly version: string;
  /** Node, and the command's own file. */
  readonly node: string;
  readonly program: string;
  /** The user's home folder. */
  readonly userHome: string;
  /** Variables of the gateway, none of them secret. */
  readonly environment: Readonly<Record<string, string>>;
  /** File of further variables (0600), read by Node at each start; it may be missing. */
  readonly environmentFile: string;
}

/** How the service is. */
export interface ServiceStatus {
  readonly manager: "systemd" | "launchd";
  /** Its file. */
  readonly path: string;
  readonly installed: boolean;
  /** Whether it starts by itself. */
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | null;
}

/** The part of the system that keeps a gateway running for this user. */
export interface ServiceManager {
  readonly path: string;
  /** What {@link install} writes. */
  readonly text: string;
  /**
   * Writes the file, lets the service start by itself, and starts it. Idempotent; what runs already is started anew when the file changed.
   * @param options `restart`: it is started anew in any case
   * @returns what was done, and what else the person may want to do
   * @throws PosternError `service_manager_missing` | `service_failed`
   */
  install(options: {
    readonly restart: boolean;
  }): Promise<{ readonly changed: boolean; readonly hints: readonly string[] }>;
  /** Stops it and removes the file; agents live on. Idempotent. @throws as {@link install} */
  uninstall(): Promise<{ readonly removed: boolean }>;
  /** @throws PosternError `service_manager_missing` */
  status(): Promise<ServiceStatus>;
}

/** The words of the command that the service runs. What is set already goes before the environment file. */
export function argvOf({ node, program, environmentFile }: ServiceSpec): readonly string[] {
  return [node, `--env-file-if-exists=${environmentFile}`, program, "serve"];
}
