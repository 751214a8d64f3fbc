#!/bin/sh
# Build stage: installs the package from `npm pack`, with the dependencies of package-lock.json, into <folder>/postern.
set -eu
out=$1
node tools/build.ts
mkdir -p "$out/postern"
npm pack --ignore-scripts --silent --pack-destination "$out"
tar -xzf "$out"/postern-*.tgz --strip-components=1 -C "$out/postern"
cp package-lock.json "$out/postern/"
cd "$out/postern"
# Dependencies need no install scripts, because native code is prebuilt.
npm ci --omit=dev --ignore-scripts --no-audit --no-fund
chmod -R u=rwX,go=rX .
