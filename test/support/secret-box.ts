import { randomBytes } from "node:crypto";
import { createSecretBox, type SecretBox } from "../../src/platform/secret-box.ts";

/** A box with a key of its own: what it seals opens in this process only. */
export function newSecretBox(): SecretBox {
  return createSecretBox(randomBytes(32));
}
