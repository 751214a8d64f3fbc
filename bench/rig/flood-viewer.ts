/** A viewer in its own process, so that it delays no others: `flood-viewer <gateway> <session> <token>`. */
import { openViewer } from "./viewer.ts";

const [gatewayUrl = "", sessionId = "", token = ""] = process.argv.slice(2);
const viewer = await openViewer(gatewayUrl, { sessionId, token });
viewer.ended.finally(() => process.disconnect()).catch(() => undefined); // its session is closed, or the bench is over
process.on("message", (text) => viewer.type(String(text)));
process.send?.("ready");
