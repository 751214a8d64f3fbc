import { expect, test } from "vitest";
import { turnOf } from "../../test/support/logs.ts";
import { bodyOf, maskedText } from "./log-body.ts";

const secret = (n: number): string => `ghp_${`Zq7Rk2Vw9Xb4Nm6Tc1Lp8Hs3${n}`.padEnd(30, "0")}`;

test("a secret is masked in every field of a turn, and what is around it stays", () => {
  const call = {
    type: "tool_call" as const,
    id: `id ${secret(1)}`,
    name: `Tool ${secret(2)}`,
    input: { command: `say ${secret(3)}`, list: [{ deep: secret(4) }], [secret(5)]: "of a name", password: "plain" },
    result: { ok: true, text: `printed ${secret(6)}`, truncated: false },
  };
  const turn = { ...turnOf(1, [`said ${secret(7)}`, call]), model: `model ${secret(8)}`, at: secret(9), endedAt: "x" };
  const body = bodyOf({ turns: [{ ...turn, text: `whole ${secret(0)}` }] });
  expect(JSON.stringify(body)).not.toContain("ghp_");
  expect(body).toMatchObject({
    form: "turns",
    turns: [
      {
        ...{ text: "said [masked]", model: "model [masked]", at: null, endedAt: null },
        blocks: [
          { type: "text", text: "said [masked]" },
          {
            ...{ id: "id [masked]", name: "Tool [masked]", result: { text: "printed [masked]" } },
            input: {
              ...{ command: "say [masked]", list: [{ deep: "[masked]" }], "[masked]": "of a name" },
              password: "[masked]",
            },
          },
        ],
      },
    ],
  });
  expect(bodyOf({ content: `note ${secret(1)}` })).toEqual({ form: "text", text: "note [masked]" });
  expect(maskedText(`title ${secret(1)}`, 100)).toBe("title [masked]");
});

test("a secret across the limit of a text is not cut into an unrecognizable one", () => {
  expect(maskedText(`${"a ".repeat(20)}${secret(1)}`, 50)).not.toContain("ghp_");
});
