import { execFileSync, spawn } from "node:child_process";
import { networkInterfaces } from "node:os";

// Inside an empty network namespace: brings the loopback up and becomes `program args…` without the namespace's privileges.
// Called by tools/test.ts through `unshare`; fails when the namespace is not empty.

const [program, ...args] = process.argv.slice(2);
if (program === undefined) throw new Error("Which program? node tools/run-isolated.ts <program> [args…]");

execFileSync("ip", ["link", "set", "lo", "up"], { stdio: ["ignore", "inherit", "inherit"] });
const others = Object.keys(networkInterfaces()).filter((name) => name !== "lo");
if (others.length > 0) throw new Error(`The network namespace is not empty: ${others.join(", ")}.`);

const dropsPrivileges = process.getuid?.() !== 0;
const [file, ...rest] = dropsPrivileges
  ? ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--", program, ...args]
  : [program, ...args];
const child = spawn(file, rest, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`Cannot run ${file}: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (exitCode) => {
  process.exitCode = exitCode ?? 1;
});
