import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { addAccount, callOf, openTestLogs, turnOf, whole } from "../../test/support/logs.ts";
import { entitiesInputSchema } from "../wire/logs.ts";

describeOnBothStores("entities", (openStore) => {
  async function setUp(files: readonly string[]) {
    const store = await openStore();
    const logs = await openTestLogs(store);
    const me = await addAccount(store);
    const context = { agent: null, repository: null, branch: null };
    const turns = [
      turnOf(
        0,
        files.map((file) => callOf("Edit", { file_path: file })),
      ),
    ];
    await logs.record(me, { sessionId: "s", title: null, dir: null, context, turns, onPurpose: false });
    return { logs, me: whole(me) };
  }

  test("are listed in pages, however long their names are", async () => {
    const long = (character: string, n: number) => `/w/${character.repeat(480)}${n}`;
    const files = ["a", "検", '"'].flatMap((character) => [0, 1, 2].map((n) => long(character, n)));
    const { logs, me } = await setUp(files);
    const keys: string[] = [];
    let cursor: string | undefined;
    do {
      // As received from a caller.
      const page = await logs.entities(me, entitiesInputSchema.parse({ limit: 2, type: "File", cursor }));
      keys.push(...page.entities.map(({ key }) => key));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(keys).toHaveLength(files.length);
    expect(new Set(keys)).toEqual(new Set(files));
  });

  test("are found by what their names hold, in any case and letter by letter", async () => {
    const files = ["/w/Übung.ts", "/w/ÀÉÎ/straße.ts", "/w/a[b]*c?.(d)+^$|{1}.ts", "/w/b\\c_%.ts", "/w/ΣΑΣ", "/w/-]x"];
    const { logs, me } = await setUp(files);
    const found = async (q: string) => (await logs.entities(me, { type: "File", q })).entities.map(({ key }) => key);
    for (const q of ["Übung", "übung", "ÜBUNG", "bUNG"]) expect(await found(q), q).toEqual([files[0]]);
    for (const q of ["àéî", "ÀéÎ/STRAßE", "straße"]) expect(await found(q), q).toEqual([files[1]]);
    for (const q of ["[b]", "[B]*C?", ".(d)+^$|{1}.ts", "A["]) expect(await found(q), q).toEqual([files[2]]);
    for (const q of ["\\c_", "_%.", "%"]) expect(await found(q), q).toEqual([files[3]]);
    for (const q of ["σας", "σασ", "ΣΑΣ"]) expect(await found(q), q).toEqual([files[4]]);
    for (const q of ["-]x", "]X"]) expect(await found(q), q).toEqual([files[5]]);
    for (const q of ["a*c", "/w?", "nothing", ".*"]) expect(await found(q), q).toEqual([]);
  });
});
