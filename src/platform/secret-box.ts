import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { link, readFile, unlink } from "node:fs/promises";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "./files.ts";

/** Encrypts secrets in the store with a key outside of it. */
export interface SecretBox {
  /** @param purpose the secret opens only for the same purpose */
  seal(secret: string, purpose: string): string;
  /** @throws PosternError `store_unavailable` when it was sealed with another key, for another purpose, or changed */
  open(sealed: string, purpose: string): string;
  /** A keyed digest, hex: with the store alone, short secrets cannot be guessed. */
  digest(secret: string, purpose: string): string;
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** The version of the sealed format. */
const version = "v1.";

/** @param key 32 bytes */
export function createSecretBox(key: Uint8Array): SecretBox {
  return {
    seal(secret, purpose) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(purpose));
      const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return version + sealed.toString("base64url");
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed.startsWith(version) ? sealed.slice(version.length) : "", "base64url");
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes), {
          authTagLength: tagBytes,
        });
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes));
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
      } catch (error) {
        const message = `Cannot decrypt a secret (${purpose}) with this key. Restore the previous key file, or create the secret again.`;
        throw new PosternError("store_unavailable", message, { cause: error });
      }
    },
    digest: (secret, purpose) =>
      createHmac("sha256", key)
        .update(JSON.stringify([purpose, secret]))
        .digest("hex"),
  };
}

/**
 * A {@link SecretBox} with the key in the file at `path`. If the file is invalid or unreadable, `onTrouble` is called once, and each call
 * of the box throws `store_unavailable`.
 */
export async function openSecretBox(path: string, onTrouble: (error: Error) => void): Promise<SecretBox> {
  try {
    return createSecretBox(await loadSecretKey(path));
  } catch (error) {
    const trouble = new PosternError("store_unavailable", `Cannot encrypt or decrypt secrets: ${messageOf(error)}`, {
      cause: error,
    });
    onTrouble(trouble);
    const refuse = (): never => {
      throw trouble;
    };
    return { seal: refuse, open: refuse, digest: refuse };
  }
}

/**
 * The key in the file at `path` (mode 0600), which is created if missing. Two processes that create it at once get the same key.
 * @throws PosternError `store_unavailable` when the file is not a key
 */
export async function loadSecretKey(path: string): Promise<Uint8Array> {
  const known = await readKey(path);
  if (known !== null) return known;
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  await writeFileAtomic(draft, randomBytes(keyBytes).toString("base64url"));
  try {
    await link(draft, path); // unlike a rename, never replaces a file
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error; // the other process was first
  } finally {
    await unlink(draft);
  }
  const made = await readKey(path);
  if (made === null) throw new Error(`The key ${path} was created but is missing.`);
  return made;
}

async function readKey(path: string): Promise<Uint8Array | null> {
  try {
    const key = Buffer.from((await readFile(path, "utf8")).trim(), "base64url");
    if (key.length === keyBytes) return key;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
  throw new PosternError("store_unavailable", `${path} is not a key. Restore the key that the store was created with.`);
}
