import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";

// `npm test` sets the variable when it could make a network namespace; a bare `vitest run` has the machine's own network.
test.runIf(process.env["POSTERN_TEST_ISOLATED"] === "1")("no test can reach a vendor", async () => {
  expect(Object.keys(networkInterfaces())).toEqual(["lo"]);
  const failure = await new Promise((resolve) => {
    connect({ host: "192.0.2.1", port: 443 })
      .on("error", resolve)
      .on("connect", () => resolve(null));
  });
  expect(failure).toMatchObject({ code: "ENETUNREACH" });
});
