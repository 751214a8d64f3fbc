import { randomBytes } from "node:crypto";
import { createSecretBox, type SecretBox } from "../../src/platform/secret-box.ts";

/** A box with a random key: its secrets open in this process only. */
export function newSecretBox(): SecretBox {
  return createSecretBox(randomBytes(32));
}
