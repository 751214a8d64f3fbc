import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextViewerStates, sizeOwner, type ViewerEvent, type ViewerStates } from "./viewers.ts";

const wide = { cols: 200, rows: 50 };
const narrow = { cols: 40, rows: 20 };

function after(...events: readonly ViewerEvent[]): ViewerStates {
  return events.reduce<ViewerStates>(nextViewerStates, []);
}

const desktop = { kind: "came", id: 1, mode: "drive", size: wide } as const;
const phone = { kind: "came", id: 2, mode: "drive", size: narrow } as const;

describe("the size of a terminal with several viewers", () => {
  test("is that of the only driver", () => {
    expect(sizeOwner(after(desktop))?.size).toEqual(wide);
  });

  test("is not changed by a driver that only attaches", () => {
    expect(sizeOwner(after(desktop, phone))?.id).toBe(1);
    expect(sizeOwner(after({ ...desktop, size: null }, { kind: "typed", id: 1 }, phone))?.id).toBe(2);
  });

  test("follows the driver who types or resizes", () => {
    expect(sizeOwner(after(desktop, phone, { kind: "typed", id: 2 }))?.id).toBe(2);
    const resized = { cols: 41, rows: 21 };
    expect(sizeOwner(after(desktop, phone, { kind: "resized", id: 2, size: resized }))?.size).toEqual(resized);
    expect(sizeOwner(after(desktop, phone, { kind: "typed", id: 2 }, { kind: "typed", id: 1 }))?.id).toBe(1);
  });

  test("returns to the previous driver's when that one leaves", () => {
    const third = { kind: "came", id: 3, mode: "drive", size: { cols: 90, rows: 30 } } as const;
    const typed = [1, 3, 2].map((id) => ({ kind: "typed", id }) as const);
    const all = [desktop, phone, third, ...typed];
    expect(sizeOwner(after(...all, { kind: "left", id: 2 }))?.id).toBe(3);
    expect(sizeOwner(after(...all, { kind: "left", id: 2 }, { kind: "left", id: 3 }))?.id).toBe(1);
    expect(sizeOwner(after(desktop, phone, third, { kind: "left", id: 1 }))?.id, "no other viewer acted").toBe(2);
    expect(sizeOwner(after(desktop, { kind: "left", id: 1 }))).toBeNull();
  });

  test("is never that of an observer", () => {
    const watching = { kind: "came", id: 5, mode: "observe", size: narrow } as const;
    const events = [watching, { kind: "resized", id: 5, size: narrow }, { kind: "typed", id: 5 }] as const;
    expect(sizeOwner(after(...events))).toBeNull();
    expect(sizeOwner(after(...events, desktop))?.id).toBe(1);
    expect(sizeOwner(after(desktop, ...events))?.id).toBe(1);
  });

  test("is always that of a connected driver", () => {
    const event: fc.Arbitrary<ViewerEvent> = fc.oneof(
      fc.record({
        kind: fc.constant("came" as const),
        id: fc.nat(5),
        mode: fc.constantFrom("drive" as const, "observe" as const),
        size: fc.option(fc.record({ cols: fc.nat(300), rows: fc.nat(100) })),
      }),
      fc.record({ kind: fc.constantFrom("typed" as const, "left" as const), id: fc.nat(5) }),
      fc.record({ kind: fc.constant("resized" as const), id: fc.nat(5), size: fc.constant(wide) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const there = new Set<number>();
        let all: ViewerStates = [];
        for (const one of events) {
          if (one.kind === "came" && there.has(one.id)) continue;
          if (one.kind === "came") there.add(one.id);
          if (one.kind === "left") there.delete(one.id);
          const before = sizeOwner(all);
          all = nextViewerStates(all, one);
          const owner = sizeOwner(all);
          expect(new Set(all.map(({ id }) => id))).toEqual(there);
          expect(owner === null).toBe(!all.some(({ mode, size }) => mode === "drive" && size !== null));
          if (one.kind === "came" && before !== null) expect(owner?.id).toBe(before.id);
        }
      }),
    );
  });
});
