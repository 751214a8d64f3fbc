import { expect, onTestFinished, test } from "vitest";
import { createWorld, startGateway } from "../../test/support/gateway.ts";
import { type Log, silentLog } from "../core/log.ts";
import { loadConfig } from "./config.ts";

const token = "4242:not-a-token-of-anybody";
const apiRoot = "http://127.0.0.1:9"; // nothing listens there

/** A gateway with this bot configured. @returns its log */
async function gatewayWith(telegram: object, env: Readonly<Record<string, string>>) {
  const world = await createWorld({ agents: false, config: { telegram }, env });
  onTestFinished(() => world.close());
  const lines: string[] = [];
  const keep = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, info: keep, warn: keep, error: keep };
  const gateway = await startGateway(world, log);
  onTestFinished(() => gateway.close());
  return { lines, status: (await gateway.api.get("/healthz")).status };
}

test("a gateway starts and works when Telegram cannot be reached, and does not log the token", async () => {
  const { lines, status } = await gatewayWith({ allowedUserIds: [1], apiRoot }, { POSTERN_TELEGRAM_TOKEN: token });
  expect(status).toBe(200);
  await expect.poll(() => lines.join("\n"), { timeout: 10_000 }).toContain("chat service unreachable");
  expect(lines.join("\n")).not.toContain("not-a-token");
});

test("without its token there is no bot, and the log names the missing variable", async () => {
  const { lines, status } = await gatewayWith({ allowedUserIds: [1], apiRoot, tokenVariable: "POSTERN_BOT" }, {});
  expect(status).toBe(200);
  expect(lines.join("\n")).toMatch(/its variable is not set; the bot is not started.*POSTERN_BOT/);
});

test("a gateway does not start if the folder for chats is missing", async () => {
  const telegram = { allowedUserIds: [1], apiRoot, folders: ["/code/is/not/there"] };
  await expect(gatewayWith(telegram, { POSTERN_TELEGRAM_TOKEN: token })).rejects.toMatchObject({
    code: "invalid_configuration",
  });
});

test("the list of users cannot be empty, and agents never get the token's variable", async () => {
  for (const telegram of [{ allowedUserIds: [] }, { allowedUserIds: [1], tokenVariable: "TELEGRAM_TOKEN" }]) {
    const world = await createWorld({ agents: false, config: { telegram } });
    onTestFinished(() => world.close());
    expect(() => loadConfig(world.env)).toThrow(expect.objectContaining({ code: "invalid_configuration" }));
  }
});
