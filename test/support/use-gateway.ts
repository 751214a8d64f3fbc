import { afterAll, beforeAll } from "vitest";
import { createWorld, startGateway, type TestGateway, type World } from "./gateway.ts";

/** One world and one gateway for all tests of a file: made before the first, gone after the last. */
export function useGateway(options: Parameters<typeof createWorld>[0]): {
  readonly world: World;
  readonly gateway: TestGateway;
} {
  let world: World | undefined;
  let gateway: TestGateway | undefined;
  beforeAll(async () => {
    world = await createWorld(options);
    gateway = await startGateway(world);
  });
  afterAll(async () => {
    await gateway?.close();
    await world?.close();
  });
  const begun = <T>(it: T | undefined): T => {
    if (it === undefined) throw new Error("Only within a test.");
    return it;
  };
  return {
    get world() {
      return begun(world);
    },
    get gateway() {
      return begun(gateway);
    },
  };
}
