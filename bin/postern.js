#!/usr/bin/env node
// Old syntax on purpose: an old Node must be able to read this far and say what is missing.
var major = parseInt(process.versions.node.split(".")[0], 10);
if (major < 24) {
  console.error(
    "postern: needs Node.js 24 or newer, this is " +
      process.version +
      ". Install it from https://nodejs.org or with your version manager, for example `nvm install 24`.",
  );
  process.exitCode = 1;
} else {
  import("../dist/main.js").catch(function (error) {
    var notBuilt = error.code === "ERR_MODULE_NOT_FOUND" && /\/dist\/main\.js$/.test(String(error.url));
    if (notBuilt) return import("../src/main.ts");
    throw error;
  });
}
