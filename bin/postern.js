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
  // A checkout runs its source, so that a build that was left behind never hides an edit. The package has no source.
  import("../src/main.ts").catch(function (error) {
    var noSource = error.code === "ERR_MODULE_NOT_FOUND" && /\/src\/main\.ts$/.test(String(error.url));
    // Node strips no types in node_modules.
    if (noSource || error.code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") return import("../dist/main.js");
    throw error;
  });
}
