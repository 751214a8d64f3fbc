import { crc32, deflateSync, inflateSync } from "node:zlib";

/** One frame of an animation. */
export interface Frame {
  /** A PNG with 8 bits per channel, RGB or RGBA, as browsers create. All frames have the same size. */
  readonly png: Buffer;
  /** How long the frame is shown. */
  readonly forMs: number;
}

/** A decoded PNG; each pixel has `channels` bytes. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
  readonly data: Buffer;
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * An animated PNG. Each frame after the first contains only the rectangle that changed.
 *
 * @param poster the frame for viewers without animation; by default the first
 * @see https://www.w3.org/TR/png-3/#apng-frame-based-animation
 */
export function animatedPng(frames: readonly Frame[], poster = 0): Buffer {
  const pictures = frames.map(({ png, forMs }) => ({ pixels: decodePng(png), forMs }));
  const shown = pictures[poster]?.pixels;
  if (shown === undefined) throw new Error("An animation needs a frame, and a poster among its frames.");
  const { width, height, channels } = shown;
  const whole = { x: 0, y: 0, width, height };
  const chunks: Buffer[] = [signature, chunk("IHDR", header(shown)), chunk("acTL", uint32(pictures.length, 0))];
  // The picture of a PNG is part of the animation only behind a frame's control.
  if (poster !== 0) chunks.push(chunk("IDAT", compress(shown, whole)));
  let sequence = 0;
  pictures.forEach(({ pixels, forMs }, index) => {
    if (pixels.width !== width || pixels.height !== height || pixels.channels !== channels)
      throw new Error("All frames of an animation have the same size.");
    const before = pictures[index - 1]?.pixels;
    const area = before === undefined ? whole : changedArea(before, pixels);
    chunks.push(chunk("fcTL", frameControl(sequence++, area, forMs)));
    const data = compress(pixels, area);
    const isPicture = index === 0 && poster === 0;
    chunks.push(isPicture ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([uint32(sequence++), data])));
  });
  return Buffer.concat([...chunks, chunk("IEND", Buffer.alloc(0))]);
}

/** @throws Error for a PNG that is interlaced, has a palette, or is not of 8 bits */
export function decodePng(png: Buffer): Pixels {
  if (!png.subarray(0, 8).equals(signature)) throw new Error("This is no PNG.");
  let pixels: Omit<Pixels, "data"> | undefined;
  const packed: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const body = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    const type = png.toString("latin1", at + 4, at + 8);
    if (type === "IHDR") pixels = readHeader(body);
    else if (type === "IDAT") packed.push(body);
  }
  if (pixels === undefined) throw new Error("This PNG has no header.");
  return { ...pixels, data: unfilter(inflateSync(Buffer.concat(packed)), pixels) };
}

function readHeader(body: Buffer): Omit<Pixels, "data"> {
  const [depth, colour, , , interlaced] = body.subarray(8);
  if (depth !== 8 || (colour !== 2 && colour !== 6) || interlaced !== 0)
    throw new Error("Only PNGs of 8 bits a channel, RGB or RGBA, without interlacing.");
  return { width: body.readUInt32BE(0), height: body.readUInt32BE(4), channels: colour === 2 ? 3 : 4 };
}

function header({ width, height, channels }: Pixels): Buffer {
  return Buffer.concat([uint32(width, height), Buffer.from([8, channels === 3 ? 2 : 6, 0, 0, 0])]);
}

function frameControl(sequence: number, { x, y, width, height }: Area, forMs: number): Buffer {
  // Delay in thousandths of a second; the frame is left standing, and the next one put over it as it is.
  return Buffer.concat([
    uint32(sequence, width, height, x, y),
    Buffer.from([forMs >> 8, forMs & 255, 1000 >> 8, 1000 & 255, 0, 0]),
  ]);
}

/** The smallest rectangle that contains all differences; one pixel if there are none. */
function changedArea(before: Pixels, after: Pixels): Area {
  const { width, height, channels } = after;
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y += 1) {
    const start = y * width * channels;
    const end = start + width * channels;
    if (before.data.compare(after.data, start, end, start, end) === 0) continue;
    top = Math.min(top, y);
    bottom = y;
    for (let at = start; at < end; at += 1) {
      if (before.data[at] === after.data[at]) continue;
      const x = Math.floor((at - start) / channels);
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
  }
  if (right === -1) return { x: 0, y: 0, width: 1, height: 1 };
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/** Filters each row with the filter that leaves the smallest differences, as the PNG specification advises. */
function compress({ width, channels, data }: Pixels, area: Area): Buffer {
  const rowBytes = area.width * channels;
  const rows: Buffer[] = [];
  let above = Buffer.alloc(rowBytes);
  for (let y = area.y; y < area.y + area.height; y += 1) {
    const start = (y * width + area.x) * channels;
    const row = Buffer.from(data.subarray(start, start + rowBytes));
    const filtered = [0, 1, 2, 3, 4].map((filter) => filterRow(filter, { row, above, channels }));
    rows.push(filtered.reduce((best, one) => (weight(one) < weight(best) ? one : best)));
    above = row;
  }
  return deflateSync(Buffer.concat(rows), { level: 9, memLevel: 9 });
}

interface Row {
  readonly row: Buffer;
  readonly above: Buffer;
  readonly channels: number;
}

function filterRow(filter: number, { row, above, channels }: Row): Buffer {
  const out = Buffer.alloc(row.length + 1);
  out[0] = filter;
  for (let at = 0; at < row.length; at += 1) {
    out[at + 1] = (row[at] ?? 0) - predict(filter, { row, above, channels }, at);
  }
  return out;
}

function unfilter(filtered: Buffer, { width, height, channels }: Omit<Pixels, "data">): Buffer {
  const rowBytes = width * channels;
  const data = Buffer.alloc(rowBytes * height);
  let above = Buffer.alloc(rowBytes);
  for (let y = 0; y < height; y += 1) {
    const start = y * (rowBytes + 1);
    const filter = filtered[start] ?? 0;
    const row = data.subarray(y * rowBytes, (y + 1) * rowBytes);
    for (let at = 0; at < rowBytes; at += 1) {
      row[at] = (filtered[start + 1 + at] ?? 0) + predict(filter, { row, above, channels }, at);
    }
    above = row;
  }
  return data;
}

/** The Paeth predictor: a byte's expected value from its left, upper and upper-left neighbors. */
function predict(filter: number, { row, above, channels }: Row, at: number): number {
  const left = row[at - channels] ?? 0;
  const up = above[at] ?? 0;
  const corner = above[at - channels] ?? 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Bytes near 0, from either side, are light. */
function weight(filtered: Buffer): number {
  let sum = 0;
  for (const byte of filtered.subarray(1)) sum += byte < 128 ? byte : 256 - byte;
  return sum;
}

function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32BE(value, 4 * index));
  return bytes;
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  return Buffer.concat([uint32(body.length), named, uint32(crc32(named))]);
}
