import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { link, readFile, unlink } from "node:fs/promises";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "./files.ts";

/** Seals secrets that lie in the store, with a key that does not: a stolen store alone opens none. */
export interface SecretBox {
  /** @param purpose what the secret is for; it opens for the same purpose only */
  seal(secret: string, purpose: string): string;
  /** @throws PosternError `store_unavailable` when it was sealed with another key, for another purpose, or changed */
  open(sealed: string, purpose: string): string;
  /** What a secret of few bits is known by, hex: whoever has the store alone cannot try all that there are. */
  digest(secret: string, purpose: string): string;
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Tells how it was sealed, for the day when another way is chosen. */
const version = "v1.";

/** A {@link SecretBox} with this key, of 32 bytes. */
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
        const words = `A sealed secret (${purpose}) does not open with this key. Put back the key file of before, or make the secret anew.`;
        throw new PosternError("store_unavailable", words, { cause: error });
      }
    },
    digest: (secret, purpose) =>
      createHmac("sha256", key)
        .update(JSON.stringify([purpose, secret]))
        .digest("hex"),
  };
}

/**
 * A {@link SecretBox} with the key in the file at `path`. With a file that is no key, or cannot be read, only what needs the box fails: each
 * call throws `store_unavailable` and says why; `onTrouble` is told once.
 */
export async function openSecretBox(path: string, onTrouble: (error: Error) => void): Promise<SecretBox> {
  try {
    return createSecretBox(await loadSecretKey(path));
  } catch (error) {
    const trouble = new PosternError("store_unavailable", `Secrets cannot be sealed or opened: ${messageOf(error)}`, {
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
 * The key in the file at `path` (mode 0600), made when there is none. Of two processes that make it at once, both get the same.
 * @throws PosternError `store_unavailable` when the file is no key
 */
export async function loadSecretKey(path: string): Promise<Uint8Array> {
  const known = await readKey(path);
  if (known !== null) return known;
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  await writeFileAtomic(draft, randomBytes(keyBytes).toString("base64url"));
  try {
    await link(draft, path); // unlike a rename it never takes another's place
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error; // else the other process was first
  } finally {
    await unlink(draft);
  }
  const made = await readKey(path);
  if (made === null) throw new Error(`The key ${path} was made but is not there.`);
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
  throw new PosternError("store_unavailable", `${path} is no key. Put back the one that the store was made with.`);
}
