// A gateway with the scripted agent, as a process that a test may kill. It prints its address as `postern serve` does.
import { createApp } from "../../src/app/app.ts";
import { loadConfig } from "../../src/app/config.ts";
import { createLog } from "../../src/app/log.ts";
import { scriptedAgent } from "./scripted-agent.ts";

const port = Number(process.argv.at(-1));
const config = loadConfig(undefined, { port });
const app = await createApp(config, createLog(config.logLevel), { furtherAgents: [scriptedAgent] });
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.once(signal, () => void app.stop().then(() => process.exit(0)));
console.log(`Postern is listening on ${app.baseUrl}, with the scripted agent.`);
