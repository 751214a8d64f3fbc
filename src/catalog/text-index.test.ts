import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  describeOnBothStores,
  type OpenTestStore,
  openPostgresTestStore,
  openSqliteTestStore,
} from "../../test/support/database.ts";
import { catalogPlaceOf, openTestCatalog } from "../../test/support/test-catalog.ts";
import { findTerms, parseQuery } from "./query.ts";
import { findTranscripts, matchesOf } from "./query-search.ts";
import { createTextIndex, createTextStore } from "./text-index.ts";
import type { TurnText } from "./turn-collector.ts";

async function openIndex(openStore: OpenTestStore) {
  const catalog = await openTestCatalog(catalogPlaceOf(await openStore()));
  const index = createTextIndex(catalog.db, catalog.dialect);
  const store = createTextStore(catalog.db, catalog.dialect);
  const hits = (query: string, where: "title" | "all" = "all") =>
    findTranscripts(store, { terms: parseQuery(query), where });
  const find = async (query: string, where?: "title" | "all"): Promise<readonly number[]> =>
    (await hits(query, where)).map((hit) => hit.transcriptId).toSorted((a, b) => a - b);
  const match = async (query: string) => {
    const found = await hits(query);
    const heads = found.map((hit) => ({ ...hit, title: null, firstMessage: null }));
    return matchesOf(store, heads, parseQuery(query));
  };
  return { index, hits, find, match };
}

function said(...texts: readonly string[]): readonly TurnText[] {
  return texts.map((text, turnIndex) => ({ turnIndex, role: turnIndex % 2 === 0 ? "user" : "assistant", text }));
}

describeOnBothStores("the text index", (openStore) => {
  test("finds a transcript that contains all words, in any turns, and the last word also as a prefix", async () => {
    const { index, find } = await openIndex(openStore);
    await index.add(1, said("Fix the login page", "The redirect was wrong."));
    await index.add(2, said("Fix the header"));
    expect(await find("fix")).toEqual([1, 2]);
    expect(await find("fix redirect")).toEqual([1]);
    expect(await find("redirect fix")).toEqual([1]);
    expect(await find("fix hea")).toEqual([2]);
    expect(await find("hea fix"), "only the last word is a prefix").toEqual([]);
    expect(await find("fix nothing")).toEqual([]);
  });

  test("finds quoted phrases, never across turns", async () => {
    const { index, find } = await openIndex(openStore);
    await index.add(1, said("one two three", "four five", "two one"));
    await index.add(2, said("three two one"));
    expect(await find('"one two"')).toEqual([1]);
    expect(await find('"two one"')).toEqual([1, 2]);
    expect(await find('"three four"')).toEqual([]);
    expect(await find('"one tw'), "an unfinished phrase matches as a prefix").toEqual([1]);
    expect(await find('"one tw"')).toEqual([]);
    expect(await find('five "one two"')).toEqual([1]);
  });

  const samples: readonly (readonly [what: string, text: string, found: readonly string[], not: readonly string[]])[] =
    [
      ["Chinese", "请修复登录页面的错误。", ["登录", "页", "修复登", "错误 登录", "登录页面的错误"], ["录登", "登面"]],
      ["Japanese", "検索機能をテストしてください。東京ﾀﾜｰ", ["検索", "索", "テスト", "東京タワー", "機能を"], ["能機"]],
      ["Korean", "로그인 페이지를 고쳐 주세요", ["로그인", "페이지", "이", "고쳐"], ["인로그"]],
      ["Thai", "ช่วยแก้หน้าเข้าสู่ระบบ", ["เข้าสู่", "ระบบ", "หน้า"], ["บระ"]],
      ["Cyrillic", "Почини страницу входа, ещё раз", ["СТРАНИЦУ", "еще", "вход", "Ещё раз"], ["траницу"]],
      ["Greek", "Διόρθωσε τη σελίδα ΣΎΝΔΕΣΗΣ", ["σύνδεσης", "συνδεσησ", "ΔΙΟΡΘΩΣΕ"], ["ελίδα"]],
      ["Arabic", "أَصْلِحْ صفحة الدخول", ["اصلح", "صفحة", "الدخ"], ["دخول"]],
      ["Hebrew", "תַּקֵּן את הדף", ["תקן", "הד"], ["קן"]],
      [
        "accents",
        "Café déjà vu, Straße, Łódź, Ångström, naïve ﬁle",
        ["cafe", "CAFÉ", "Cafe\u0301", "STRASSE", "lodz", "angstrom", "naive", "file"],
        ["caf deja"],
      ],
      [
        "identifiers",
        "call getUserName() in src/app/user_name.test.ts of @scope/pkg-a v2.1.329",
        [
          "getusername",
          "getUser",
          "user_name",
          "src/app/user_name.test.ts",
          "user_name.t",
          "@scope/pkg-a",

          "v2.1",
        ],
        ["username", "src/user_name"],
      ],
      ["emoji", "Ship it 🚀 with 👩‍💻 ❤️", ["🚀", "👩‍💻", "❤", "it 🚀 with"], ["🦉", "👨‍💻"]],
      [
        "punctuation",
        "it's C++, a.b; 100% (really) \\o/ 'x' & y | !z :* <->",
        ["it's", "it’s", "C++", "100%", "really)", "(really)", "'x'", "y |", "!z", "a.b"],
        ["xy"],
      ],
    ];
  test.each(samples)("finds what is written: %s", async (...[, text, found, not]) => {
    const { index, find } = await openIndex(openStore);
    await index.add(1, said("something else", text));
    await index.setHead(2, { title: text, firstMessage: null });
    await index.setHead(3, { title: null, firstMessage: text });
    for (const query of found) {
      expect(await find(query), query).toEqual([1, 2]);
      expect(await find(query, "title"), query).toEqual([2, 3]);
    }
    for (const query of not) {
      expect(await find(query), query).toEqual([]);
      expect(await find(query, "title"), query).toEqual([]);
    }
  });

  test("keeps up with a transcript that grows, is rewritten and disappears", async () => {
    const { index, find, match } = await openIndex(openStore);
    await index.add(7, [{ turnIndex: 0, role: "user", text: "alpha" }]);
    await index.add(7, [{ turnIndex: 1, role: "assistant", text: "beta" }]);
    await index.add(7, [{ turnIndex: 1, role: "assistant", text: "gamma" }]);
    expect(await find("alpha beta gamma")).toEqual([7]);
    expect(await match("gamma")).toMatchObject([{ field: "turn", turnIndex: 1, snippet: "gamma" }]);
    await index.add(7, [
      { turnIndex: 1, role: "assistant", text: "", restarts: true },
      { turnIndex: 1, role: "assistant", text: "delta" },
    ]);
    expect(await find("beta")).toEqual([]);
    expect(await find("gamma")).toEqual([]);
    expect(await find("alpha delta")).toEqual([7]);
    await index.setHead(7, { title: "old", firstMessage: "alpha" });
    await index.setHead(7, { title: "new", firstMessage: "alpha" });
    expect(await find("old", "title")).toEqual([]);
    expect(await find("new alpha", "title")).toEqual([7]);
    await index.remove(7);
    for (const query of ["alpha", "delta", "new"]) {
      expect(await find(query)).toEqual([]);
      expect(await find(query, "title")).toEqual([]);
    }
    await index.remove(7);
  });

  test("finds every word of a long text, whether added at once or in pieces", async () => {
    const { index, find, match } = await openIndex(openStore);
    const words = Array.from({ length: 9_000 }, (_, n) => `word${n}`);
    const text = words.join(" ");
    await index.add(1, said("start", text, "end"));
    await index.add(2, said("start"));
    for (let from = 0; from < words.length; from += 1_000) {
      await index.add(2, [{ turnIndex: 1, role: "assistant", text: words.slice(from, from + 1_000).join(" ") }]);
    }
    for (const word of ["word0", "word1700", "word4321", "word8999"]) expect(await find(`"${word}"`)).toEqual([1, 2]);
    expect(await find("start word8999 end")).toEqual([1]);
    expect((await match("word8999"))[0]).toMatchObject({ turnIndex: 1 });
    await index.add(1, [{ turnIndex: 1, role: "assistant", text: "", restarts: true }]);
    expect(await find('"word1700"')).toEqual([2]);
    expect(await find("start")).toEqual([1, 2]);
    const japanese = "検索機能をテストします。".repeat(2_000);
    await index.add(3, said(`${japanese}最後に猫`));
    expect(await find("猫")).toEqual([3]);
    expect(await find("最後に猫")).toEqual([3]);
  });

  test("ranks transcripts higher that contain the words more often and together", async () => {
    const { index, hits } = await openIndex(openStore);
    const filler = "lorem ipsum dolor sit amet ".repeat(40);
    await index.add(1, said(`${filler} cache ${filler}`));
    await index.add(2, said(`cache cache cache miss ${filler}`));
    await index.add(3, said(`${filler} ${"x ".repeat(9_000)}`, "miss"));
    await index.add(3, said("cache"));
    const byScore = async (query: string) =>
      (await hits(query)).toSorted((a, b) => b.score - a.score).map(({ transcriptId }) => transcriptId);
    expect((await byScore("cache"))[0]).toBe(2);
    expect(await byScore("cache miss")).toEqual([2, 3]);
    await index.setHead(1, { title: "the cache", firstMessage: "x" });
    expect((await hits("cache")).filter(({ inTitle }) => inTitle).map(({ transcriptId }) => transcriptId)).toEqual([1]);
  });

  test("accepts text of any bytes", async () => {
    const { index, find } = await openIndex(openStore);
    const ugly = `a\u0000b \ud800 c\u001e1\u001fd \u001b[31mred\u001b[0m \udfff ${"z".repeat(100_000)} '\\' end`;
    await index.add(1, said(ugly));
    await index.setHead(1, { title: ugly, firstMessage: ugly });
    for (const query of ["a", "b", "c", "d", "red", "end", "z".repeat(500)])
      expect(await find(query), query).toEqual([1]);
    expect(await find("end", "title")).toEqual([]); // beyond the searchable part
    expect(await find("red", "title")).toEqual([1]);
  });
});

describe("any text and any query", () => {
  const piece = fc.oneof(
    fc.constantFrom("alpha", "beta", "Beta", "béta", "検索", "索引", "ไทย", "👩‍💻", "foo_bar", "foo", "bar", "x"),
    fc.constantFrom(
      " ",
      " ",
      " ",
      '"',
      "'",
      "*",
      "(",
      ")",
      ":",
      "^",
      "-",
      "NOT",
      "AND",
      "OR",
      "NEAR",
      "title",
      "\\",
      "&",
      "|",
      "!",
      "<->",
      "{",
      "}",
      "+",
      ".",
      "\0",
    ),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  const text = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(""));

  test("both stores find the same as a scan of the texts", async () => {
    const both = [await openIndex(openSqliteTestStore), await openIndex(openPostgresTestStore)];
    let next = 1;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(text, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        fc.array(text, { maxLength: 6 }),
        async (transcripts, queries) => {
          const ids = transcripts.map((_, at) => next + at);
          next += ids.length;
          for (const { index } of both) {
            for (const [at, texts] of transcripts.entries()) await index.add(ids[at] ?? 0, said(...texts));
          }
          for (const query of [...queries, ...transcripts.flat()]) {
            const terms = parseQuery(query);
            if (terms.length === 0) continue;
            const expected = ids.filter((_, at) =>
              terms.every((term) =>
                transcripts[at]?.some((one) => findTerms(one.replaceAll("\0", " "), [term]).length > 0),
              ),
            );
            for (const { find } of both) expect(await find(query), JSON.stringify(query)).toEqual(expected);
          }
          for (const { index } of both) for (const id of ids) await index.remove(id);
        },
      ),
      { numRuns: 40 },
    );
  });
});
