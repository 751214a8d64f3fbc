/**
 * A fetch that goes to one address only, follows no redirect (which would take text and key elsewhere) and takes no endless answer.
 * Not the guarded fetch: the owner named this address, and it may well be this machine's.
 */
export function createBoundedFetch({
  baseUrl,
  maxAnswerBytes,
}: {
  readonly baseUrl: string;
  readonly maxAnswerBytes: number;
}): typeof fetch {
  const prefix = `${baseUrl.replace(/\/+$/, "")}/`;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.startsWith(prefix)) throw new Error("A model is asked at its own address only.");
    const response = await fetch(url, { ...init, redirect: "error" });
    const { status, statusText, headers } = response;
    return new Response(await boundedBody(response, maxAnswerBytes), { status, statusText, headers });
  };
}

async function boundedBody(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | null> {
  if (response.body === null) return null;
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) throw new Error(`A model answered with more than ${maxBytes} bytes.`); // leaving the loop cancels the body, which closes the connection
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
