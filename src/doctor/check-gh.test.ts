import { join } from "node:path";
import { expect, test } from "vitest";
import { fakeHost, startFakeGitHub } from "../../test/support/fake-github.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { checkGh } from "./check-gh.ts";

test("reports the version and logins of gh, and nothing without it", async () => {
  const root = await makeTempFolder();
  const path = process.env["PATH"] ?? "";
  const { env } = await startFakeGitHub({ root, bare: join(root, "none.git") });
  const findingWith = (more: Readonly<Record<string, string>>) => checkGh(path, { PATH: path, HOME: root, ...more });
  expect(await findingWith(env.loggedIn)).toMatchObject([
    {
      check: "gh",
      level: "ok",
      message: expect.stringMatching(new RegExp(`^gh 2\\.\\d.* logged in to ${fakeHost}\\.$`)),
    },
  ]);
  expect(await findingWith(env.loggedOut)).toMatchObject([
    {
      level: "ok",
      message: expect.stringContaining("not logged in. Only pull requests need it: run `gh auth login`."),
    },
  ]);
  expect(await checkGh(root, {})).toEqual([]);
});
