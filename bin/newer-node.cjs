// Finds a Node.js that is new enough and runs the command with it. In the syntax of Node 6, because an older Node runs this.
"use strict";

var childProcess = require("child_process");
var fs = require("fs");
var os = require("os");
var path = require("path");

/** A start of Node takes 50 ms; a version manager's script can take longer. */
var versionTimeoutMs = 2000;
/** All lookups together. */
var searchTimeoutMs = 5000;
/** More folders than anyone has versions of Node. */
var maxFolders = 200;

/** Where version managers and installers put Node: `*` is a version, `node*` a name that starts with `node`. */
function patterns(env, home) {
  var data = env.XDG_DATA_HOME || path.join(home, ".local/share");
  return [
    [env.NVM_DIR || path.join(home, ".nvm"), "versions/node/*/bin/node"],
    [env.FNM_DIR || path.join(data, "fnm"), "node-versions/*/installation/bin/node"],
    [path.join(home, ".fnm"), "node-versions/*/installation/bin/node"],
    [path.join(home, "Library/Application Support/fnm"), "node-versions/*/installation/bin/node"],
    [env.VOLTA_HOME || path.join(home, ".volta"), "tools/image/node/*/bin/node"],
    [env.MISE_DATA_DIR || path.join(data, "mise"), "installs/node/*/bin/node"],
    [env.ASDF_DATA_DIR || path.join(home, ".asdf"), "installs/nodejs/*/bin/node"],
    [env.NODENV_ROOT || path.join(home, ".nodenv"), "versions/*/bin/node"],
    [env.N_PREFIX || "/usr/local", "n/versions/node/*/bin/node"],
    ["/opt", "node*/bin/node"],
    ["/opt/nodejs", "*/bin/node"],
    ["/usr/local", "node*/bin/node"],
    ["/usr/local/lib/nodejs", "*/bin/node"],
    ["/opt/homebrew/opt", "node*/bin/node"],
    ["/usr/local/opt", "node*/bin/node"],
    ["/opt/homebrew", "bin/node"],
    ["/usr/local", "bin/node"],
    ["/usr", "bin/node"],
    [path.join(home, ".local"), "bin/node"],
  ];
}

/** The files that match one pattern, the newest major version first. */
function filesOf(folder, pattern) {
  var parts = pattern.split("/");
  var star = parts.findIndex(function (part) {
    return part.indexOf("*") !== -1;
  });
  if (star === -1) return [path.join(folder, pattern)];
  var parent = path.join.apply(null, [folder].concat(parts.slice(0, star)));
  var prefix = parts[star].slice(0, -1);
  var names = [];
  try {
    names = fs.readdirSync(parent);
  } catch (error) {
    return []; // not installed
  }
  return names
    .filter(function (name) {
      // A name without a version, such as `nodejs`, can be any.
      return name.indexOf(prefix) === 0 && (isNaN(majorOf(name)) || majorOf(name) >= exports.oldest);
    })
    .slice(0, maxFolders)
    .sort(function (one, other) {
      return (majorOf(other) || 0) - (majorOf(one) || 0);
    })
    .map(function (name) {
      return path.join.apply(null, [parent, name].concat(parts.slice(star + 1)));
    });
}

/** Of `v24.1.0`, `24.1.0`, `node-v24.1.0-linux-x64` or `node@24`. */
function majorOf(text) {
  var found = /(\d+)/.exec(text);
  return found === null ? NaN : parseInt(found[1], 10);
}

function realPath(file) {
  try {
    return fs.realpathSync(file);
  } catch (error) {
    return null; // missing
  }
}

/** The bundled Node of a checkout, then PATH, then version managers and the usual folders. Null when none is new enough. */
exports.find = function (env, script) {
  var until = Date.now() + searchTimeoutMs;
  var home = env.HOME || os.homedir();
  var onPath = (env.PATH || "").split(path.delimiter).filter(path.isAbsolute);
  var candidates = [path.join(realPath(script) || script, "../../node_modules/node/bin/node")].concat(
    onPath.map(function (folder) {
      return path.join(folder, "node");
    }),
    onPath.map(function (folder) {
      return path.join(folder, "node" + exports.oldest);
    }),
  );
  patterns(env, home).forEach(function (pair) {
    candidates = candidates.concat(filesOf(pair[0], pair[1]));
  });
  var seen = [realPath(process.execPath)];
  for (var index = 0; index < candidates.length && Date.now() < until; index += 1) {
    var file = realPath(candidates[index]);
    if (file === null || seen.indexOf(file) !== -1) continue;
    seen.push(file);
    // By its name in the folder: a version manager's link chooses by that.
    if (majorPrintedBy(candidates[index]) >= exports.oldest) return candidates[index];
  }
  return null;
};

function majorPrintedBy(file) {
  var options = { encoding: "utf8", timeout: versionTimeoutMs, stdio: ["ignore", "pipe", "ignore"] };
  var done = childProcess.spawnSync(file, ["--version"], options);
  return done.status === 0 && /^v\d+\./.test(done.stdout) ? majorOf(done.stdout) : 0;
}

/** Runs the command with this Node, and ends as it does: signals go to it, and its exit code or signal is this process's. */
exports.run = function (node, script) {
  var argv = process.execArgv.concat([script], process.argv.slice(2));
  var child = childProcess.spawn(node, argv, { stdio: "inherit" });
  // A terminal sends SIGINT and SIGQUIT to both processes; a second one would end the gateway at once.
  var hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR2"].forEach(function (signal) {
    var fromTerminal = hasTerminal && (signal === "SIGINT" || signal === "SIGQUIT");
    process.on(signal, function () {
      if (!fromTerminal) child.kill(signal);
    });
  });
  child.on("error", function (error) {
    console.error("postern: cannot run " + node + ": " + error.message);
    process.exitCode = 1;
  });
  child.on("exit", function (code, signal) {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};

/** The oldest major version that runs Postern. */
exports.oldest = 24;
