const usualPoolSize = Buffer.poolSize;
let loading = 0;

/**
 * Runs `load` without Node's shared memory pool for small buffers. For a library that reads a buffer's whole `ArrayBuffer` instead of the
 * buffer, and thus the contents of other buffers.
 */
export async function unpooled<T>(load: () => Promise<T>): Promise<T> {
  loading += 1;
  Buffer.poolSize = 0;
  try {
    return await load();
  } finally {
    loading -= 1;
    if (loading === 0) Buffer.poolSize = usualPoolSize;
  }
}
