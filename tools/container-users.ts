import type { ContainedUser } from "./contained.ts";

/** As in the image: `container/prepare-system.sh` takes over the user that Node's image brings. */
export const posternUser: ContainedUser = { uid: 1000, gid: 1000 };
export const rootUser: ContainedUser = { uid: 0, gid: 0 };

/** What Node's image says of the environment. */
export const baseEnv: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};
