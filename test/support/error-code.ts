import { PosternError } from "../../src/core/errors.ts";

/** The code that `attempt` was refused with, or null when it went through. Any other error is thrown. */
export async function errorCode(attempt: Promise<unknown>): Promise<string | null> {
  try {
    await attempt;
    return null;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    return String(error.code);
  }
}
