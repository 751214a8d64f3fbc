import { parentPort } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import reference from "@scalar/fastify-api-reference";
import fastify from "fastify";

// The package holds its 4 MB script as one string, which takes a third of a second to load: here no request waits for it, and
// what stays in memory is the compressed script.
const app = fastify();
await app.register(reference, { routePrefix: "/docs", configuration: { url: "/openapi.json" } });
const { statusCode, rawPayload } = await app.inject("/docs/js/scalar.js");
if (statusCode !== 200) throw new Error(`The API reference gave no script, but ${statusCode}.`);
parentPort?.postMessage(new Uint8Array(gzipSync(rawPayload)));
