import type { ContainedUser } from "./contained.ts";

/** As in the image: `container/prepare-system.sh` reuses the user of Node's image. */
export const posternUser: ContainedUser = { uid: 1000, gid: 1000 };
export const rootUser: ContainedUser = { uid: 0, gid: 0 };

/** The environment of Node's image. */
export const baseEnv: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};
