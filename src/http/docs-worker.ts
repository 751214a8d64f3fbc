import { parentPort } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import reference from "@scalar/fastify-api-reference";
import fastify from "fastify";

// Loading the package's 4 MB script takes a third of a second. In a worker, it blocks no request, and only the compressed script
// stays in memory.
const app = fastify();
await app.register(reference, { routePrefix: "/docs", configuration: { url: "/openapi.json" } });
const { statusCode, rawPayload } = await app.inject("/docs/js/scalar.js");
if (statusCode !== 200) throw new Error(`Cannot load the script of the API reference: status ${statusCode}.`);
parentPort?.postMessage(new Uint8Array(gzipSync(rawPayload)));
