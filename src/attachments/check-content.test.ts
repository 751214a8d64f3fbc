import { expect, test } from "vitest";
import { picture } from "../../test/support/pictures.ts";
import { checkContent, fileNameFor, refuseName, refuseOtherType } from "./check-content.ts";

const png = picture(1);
const html = Buffer.from("<!doctype html><script>alert(1)</script>");
const gif = Buffer.from("R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==", "base64");
const jpeg = Buffer.concat([
  Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"),
  Buffer.from("ffda0008010100003f00aaff00bbffd0ccffd9", "hex"),
]);
const webp = Buffer.from("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "base64");
const pdf = Buffer.from("%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n");

test.for([
  ["a.png", png, "image/png"],
  ["a.jpg", png, "image/png"],
  ["photo", jpeg, "image/jpeg"],
  ["a.gif", gif, "image/gif"],
  ["a.webp", webp, "image/webp"],
  ["a.pdf", pdf, "application/pdf"],
  ["main.rs", Buffer.from("fn main() {} // ünïcode"), "text/plain"],
  ["page.html", html, "text/plain"],
  ["Makefile", Buffer.from("all:\n\techo\n"), "text/plain"],
  ["two.jpg", Buffer.concat([jpeg, jpeg]), "image/jpeg"],
  ["phone.jpg", Buffer.concat([jpeg, Buffer.from("SEFHdata of the cameraSEFT")]), "image/jpeg"],
] as const)("%s is what its content is", ([name, bytes, type]) => {
  expect(checkContent(bytes, name)).toBe(type);
});

test.for([
  ["a page behind a PNG's end", "a.png", Buffer.concat([png, html])],
  ["an archive behind a GIF's end", "a.gif", Buffer.concat([gif, Buffer.from("PK\u0003\u0004")])],
  ["a page behind a JPEG's end", "a.jpg", Buffer.concat([jpeg, html])],
  ["a page behind a WebP's end", "a.webp", Buffer.concat([webp, html])],
  ["a page that is called an image", "a.png", html],
  ["an image that is called a page", "a.html", png],
  ["an image that is called a program", "a.exe", png],
  ["a cut image", "a.png", png.subarray(0, 60)],
  ["only the beginning of a GIF", "a.gif", Buffer.from("GIF89a/*<script>*/")],
  ["a program", "tool", Buffer.from("7f454c460201010000", "hex")],
  ["text with NUL", "a.txt", Buffer.from("a\0b")],
  ["text that is not UTF-8", "a.txt", Buffer.from([0x61, 0xff, 0xfe])],
  ["a cut PDF", "a.pdf", pdf.subarray(0, 20)],
  ["nothing", "a.txt", Buffer.alloc(0)],
] as const)("%s is refused", ([, name, bytes]) => {
  expect(() => checkContent(bytes, name)).toThrow(expect.objectContaining({ code: "attachment_type_refused" }));
});

test("a caller that calls a file another kind of file than it is, is refused", () => {
  expect(() => refuseOtherType({ name: "a", mediaType: "image/png" }, "text/plain")).toThrow(/sent as image\/png/);
  expect(() => refuseOtherType({ name: "a", mediaType: "text/html" }, "image/png")).toThrow(/sent as text\/html/);
  refuseOtherType({ name: "a", mediaType: "application/octet-stream" }, "image/png");
  refuseOtherType({ name: "a", mediaType: "image/jpg" }, "image/png");
});

test.for(["../a.png", "a/b", "a\\b", "..", ".", "", "a\nb", "a\u202eb", "x".repeat(256)])(
  "the name %j is refused",
  (name) => {
    expect(() => refuseName(name)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  },
);

test("a name on the disk has letters, digits and an extension that fits", () => {
  refuseName("Bildschirm­foto 1 👩‍👩‍👧.png");
  expect(fileNameFor("Bild schirm/föto.jpg", "image/png")).toBe("Bild-schirm-f-to.png");
  expect(fileNameFor(".env", "text/plain")).toBe("env.txt");
  expect(fileNameFor("--help.rs", "text/plain")).toBe("help.rs");
  expect(fileNameFor("写真", "image/jpeg")).toBe("file.jpg");
});
