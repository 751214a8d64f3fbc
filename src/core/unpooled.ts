const usualPoolSize = Buffer.poolSize;
let loading = 0;

/**
 * Runs `load` while no small buffer is cut out of the memory that Node shares among them. For a library that takes the memory of its
 * buffer for the buffer: what it reads then depends on what was there before.
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
