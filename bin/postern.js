#!/usr/bin/env node
// Old syntax on purpose: an old Node must be able to read this far and find a newer one.
var major = parseInt(process.versions.node.split(".")[0], 10);
if (major < 24) {
  import("./newer-node.cjs")
    .then(function (loaded) {
      var script = process.argv[1];
      var node = loaded.default.find(process.env, script);
      if (node === null) sayWhatIsMissing();
      else loaded.default.run(node, script);
    })
    .catch(sayWhatIsMissing); // a Node that is too old for `import`
} else {
  // A checkout runs its source, so that a build that was left behind never hides an edit. The package has no source.
  import("../src/main.ts").catch(function (error) {
    var noSource = error.code === "ERR_MODULE_NOT_FOUND" && /\/src\/main\.ts$/.test(String(error.url));
    // Node strips no types in node_modules.
    if (noSource || error.code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") return import("../dist/main.js");
    throw error;
  });
}

function sayWhatIsMissing() {
  console.error(
    "postern: needs Node.js 24 or newer, this is " +
      process.version +
      ", and no newer one was found on PATH, in a version manager's folder, /opt or /usr/local. Install it from https://nodejs.org or with your version manager, for example `nvm install 24`.",
  );
  process.exitCode = 1;
}
