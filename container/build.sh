#!/bin/sh
# Build stage: the package as `npm pack` makes it, with the dependencies of package-lock.json, goes to <folder>/postern.
set -eu
out=$1
node tools/build.ts
mkdir -p "$out/postern"
npm pack --ignore-scripts --silent --pack-destination "$out"
tar -xzf "$out"/postern-*.tgz --strip-components=1 -C "$out/postern"
cp package-lock.json "$out/postern/"
cd "$out/postern"
# No dependency needs install scripts: native code comes prebuilt.
npm ci --omit=dev --ignore-scripts --no-audit --no-fund
chmod -R u=rwX,go=rX .
