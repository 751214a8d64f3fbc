import { expect, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import { PosternError } from "../core/errors.ts";

const commands = [
  ["serve"],
  ["coding", "ask"],
  ["coding", "read"],
  ["coding", "close"],
  ["coding", "close-all"],
  ["coding", "agents"],
  ["coding", "setup"],
  ["folder", "add"],
  ["folder", "list"],
  ["folder", "remove"],
  ["token", "create"],
  ["token", "list"],
  ["token", "revoke"],
  ["login-link"],
  ["browser", "list"],
  ["browser", "revoke"],
  ["account", "add"],
  ["account", "list"],
  ["account", "remove"],
  ["client", "add"],
  ["client", "list"],
  ["client", "remove"],
  ["doctor"],
  ["service", "install"],
  ["service", "uninstall"],
  ["service", "status"],
] as const;

test.each(commands.map((command) => [command.join(" "), command] as const))(
  "%s --help has examples and exits 0",
  async (name, command) => {
    const run = await runCommand([...command, "--help"]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain(`Usage: postern ${name}`);
    expect(run.stdout).toContain(`Examples:\n  $ `);
    expect(run.stdout).toContain(`postern ${name}`);
    expect(run.stdout).toContain("--json");
  },
);

test("the help lists the exit codes", async () => {
  const { code, stdout } = await runCommand(["--help"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 .*postern serve/);
});

test.each([
  [["coding", "ask"], "1 an error; 2"],
  [["token", "list"], "1 an error; 2"],
  [["doctor"], "1 an error, or a check failed; 2"],
  [["service", "status"], "1 an error, or the service is not running; 2"],
])("the help of %j lists the exit codes", async (argv, error) => {
  const { stdout } = await runCommand([...argv, "--help"]);
  expect(stdout).toContain(`\nExit codes: 0 done; ${error} usage error; 3 no gateway is running\n`);
});

test.each([["--version"], ["-v"], ["-V"], ["version"]])("%s prints the version", async (word) => {
  expect(await runCommand([word])).toEqual({ code: 0, stdout: "0.0.0-test\n", stderr: "" });
});

test.each([
  [["nonsense"], "postern"],
  [["coding", "ask"], "postern coding ask"],
  [["coding", "ask", "x", "--branch", "b"], "postern coding ask"],
])("the usage error of %j names the help of its command", async (argv, command) => {
  expect((await runCommand(argv)).stderr).toMatch(new RegExp(`\\. Run \`${command} --help\` for usage\\.\n$`));
});

test.each([
  [["nonsense"], /unknown command/],
  [["serve", "--port", "70000"], /whole number from 0 to 65535/],
  [["serve", "--nonsense"], /unknown option/],
  [["token", "create", "--name", "x"], /required option '--scopes/],
  [["token", "create", "--name", "x", "--scopes", "coding:read,everything"], /coding:drive/],
  [["token", "create", "--name", "x", "--scopes", "coding:read", "--expires", "soon"], /such as 90m, 12h, 30d/],
  [["token", "create", "--name", "x", "--scopes", "coding:read", "--expires", "9999w"], /ten years/],
  [["folder", "add", "x", "--scopes", ""], /files/],
  [["account", "add", "anna"], /required option '--scopes/],
  [["account", "add", "anna", "--scopes", "admin"], /coding:read/],
  [["account", "add", "", "--scopes", "coding:read"], /name/],
  [["client", "add", "x", "--redirect", "nowhere"], /URL/],
  [["webhook", "add", "nonsense"], /http or https/],
  [["coding", "ask", "x", "--branch", "b"], /Add --worktree/],
  [["coding", "ask"], /usage: missing <prompt>\. Run/],
  [["coding", "list", "--limit", "x"], /usage: 'x' is not valid for --limit <count>\. Use a whole number/],
  [["webhook", "add", "ftp://x"], /usage: 'ftp:\/\/x' is not a valid <url>\. Must be an http or https URL\. Run/],
  [["coding", "ask", "two", "prompts"], /too many arguments/],
  [["coding", "ask", "x", "--permission-mode", "yolo"], /ask.*edits.*all/],
  [["coding", "setup", "--binary", "/x", "--yes"], /--binary needs --agent/],
  [["coding", "setup", "--install", "--default", "codex"], /--install needs --agent/],
  [["coding", "setup", "--agent", "codex", "--login"], /--login needs a terminal/],
])("%j is a usage error with exit code 2", async (argv, message) => {
  const run = await runCommand(argv);
  expect(run).toMatchObject({ code: 2, stdout: "" });
  expect(run.stderr).toMatch(/^postern: usage: .*\n$/);
  expect(run.stderr).not.toContain(".;");
  expect(run.stderr).toMatch(message);
});

test("help covers the requested command depth, and every help fits in 80 columns", async () => {
  const ask = await runCommand(["help", "coding", "ask"]);
  expect(ask).toEqual(await runCommand(["coding", "ask", "--help"]));
  expect(ask.stdout).toMatch(/^Usage: postern coding ask /);
  for (const group of [[], ["coding"], ["memory"], ["attach"]]) {
    const { stdout } = await runCommand([...group, "--help"]);
    expect(stdout.split("\n").filter((line) => line.length > 80 && !line.startsWith("  $"))).toEqual([]);
  }
});

test("no command at all shows the help and exits 2", async () => {
  expect(await runCommand([])).toMatchObject({ code: 2, stdout: "" });
});

test("setup without flags and without a terminal names them", async () => {
  const { code, stderr } = await runCommand(["coding", "setup"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/Not running in a terminal.*--yes .*--agent <name> \[--binary <path>\].*--default <agent>/);
});

test("serve passes its flags on", async () => {
  let given: unknown;
  const startGateway = (overrides: unknown) => {
    given = overrides;
    return Promise.reject(new PosternError("unsafe_configuration", "no"));
  };
  await runCommand(["serve", "--host", "0.0.0.0", "--insecure-http"], { ports: { startGateway } });
  expect(given).toEqual({ host: "0.0.0.0", insecureHttp: true });
});

test.each(["session_not_found", "token_not_found", "webhook_not_found", "gateway_running"])(
  "%s prints the next step once",
  async (code) => {
    const after = async (message: string): Promise<string> => {
      const openStores = () => Promise.reject(new PosternError(code, message));
      return (await runCommand(["folder", "list"], { ports: { openStores } })).stderr;
    };
    expect(await after("It is so.")).toMatch(/^postern: \w+: It is so\. [^\n]*(`postern|POSTERN_HOME)[^\n]*\n$/);
    expect(await after("Run `postern coding list`.")).toBe(`postern: ${code}: Run \`postern coding list\`.\n`);
  },
);

test("an internal error is one line, whatever its message contains", async () => {
  const openStores = () => Promise.reject(new PosternError("store_unavailable", "Cannot\nopen \u001b[31mit."));
  const run = await runCommand(["folder", "list"], { ports: { openStores } });
  expect(run).toEqual({ code: 1, stdout: "", stderr: "postern: store_unavailable: Cannot open it.\n" });
});
