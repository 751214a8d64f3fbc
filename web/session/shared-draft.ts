import { useEffect, useEffectEvent, useRef, useState } from "react";
import { type Draft, draftSchema, maxDraftLength, savedDraftSchema } from "../../src/wire/drafts.ts";
import { acting, reading } from "../api/client.ts";
import type { DraftStorage } from "./drafts.ts";

const prefix = "postern.draft-version.";
/** Saved once typing has paused. */
const pauseMs = 800;

/** Where the gateway keeps a draft. */
export interface DraftPlace {
  read(signal: AbortSignal): Promise<Draft>;
  save(text: string, version: number): Promise<Draft & { readonly saved: boolean }>;
  clear(): Promise<unknown>;
}

export function sessionDraft(sessionId: string): DraftPlace {
  return {
    read: (signal) => reading.readDraft({ sessionId }, { signal, output: draftSchema }),
    save: (text, version) => acting.saveDraft({ sessionId, text, version }, { output: savedDraftSchema }),
    clear: () => acting.clearDraft({ sessionId }, { output: draftSchema }),
  };
}

export const newSessionDraft: DraftPlace = {
  read: (signal) => reading.readNewSessionDraft({}, { signal, output: draftSchema }),
  save: (text, version) => acting.saveNewSessionDraft({ text, version }, { output: savedDraftSchema }),
  clear: () => acting.clearNewSessionDraft({}, { output: draftSchema }),
};

/** The text that this browser last exchanged with the gateway, and its version. */
interface Exchanged {
  readonly text: string;
  readonly version: number;
}

/** What to do with the gateway's draft when it is read. */
export function meeting(local: string, exchanged: Exchanged, remote: Draft): "nothing" | "take" | "save" | "ask" {
  if (remote.text === local) return "nothing";
  if (local === exchanged.text) return "take";
  if (remote.version === exchanged.version) return "save";
  return remote.text === "" || local === "" ? (local === "" ? "take" : "save") : "ask";
}

/**
 * Syncs a draft between all devices of the account. The browser's own copy is written first, so that typing never waits, and nothing is
 * lost while the gateway is unreachable.
 */
export function useSharedDraft(props: {
  readonly name: string;
  readonly place: DraftPlace;
  readonly text: string;
  readonly onTake: (text: string) => void;
  readonly enabled: boolean;
}) {
  const { name, place, text, onTake, enabled } = props;
  /** Another device's draft, while the user has to choose between the two. */
  const [other, setOther] = useState<Draft | null>(null);
  const currentText = useEffectEvent(() => text);
  const take = useEffectEvent((next: string) => onTake(next));
  const sync = useRef<Sync | null>(null);
  useEffect(() => {
    const created = createSync({
      ...{ name, place, storage: localStorage, setOther },
      text: () => currentText(),
      take: (next) => take(next),
    });
    sync.current = created;
    if (!enabled) return;
    const controller = new AbortController();
    const look = (): void => {
      if (document.visibilityState === "visible") void created.look(controller.signal);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      controller.abort();
      document.removeEventListener("visibilitychange", look);
    };
  }, [name, place, enabled]);
  useEffect(() => {
    if (!enabled || other !== null || sync.current?.isChanged(text) !== true) return;
    const timer = setTimeout(() => void sync.current?.save(), pauseMs);
    return () => clearTimeout(timer);
  }, [enabled, other, text]);
  return {
    other,
    /** Ends the question about another device's draft. */
    choose(which: "this" | "other"): void {
      if (other === null) return;
      setOther(null);
      sync.current?.settle(other);
      if (which === "other") onTake(other.text);
      else void sync.current?.save();
    },
    /** After the text was sent. */
    sent: () => sync.current?.sent(),
  };
}

type Sync = ReturnType<typeof createSync>;

/** Requests run one after another, so that a late one does not overwrite a newer one. */
function createSync(deps: {
  readonly name: string;
  readonly place: DraftPlace;
  readonly storage: DraftStorage;
  readonly text: () => string;
  readonly take: (text: string) => void;
  readonly setOther: (draft: Draft | null) => void;
}) {
  const { name, place, storage, text, take, setOther } = deps;
  let exchanged = keptExchange(storage, name);
  let line: Promise<unknown> = Promise.resolve();

  function settle({ text: last, version }: Exchanged): void {
    exchanged = { text: last, version };
    keepExchange(storage, name, exchanged);
  }
  function meet(remote: Draft): "nothing" | "take" | "save" | "ask" {
    const what = meeting(text(), exchanged, remote);
    if (what === "ask") {
      setOther(remote);
      return what;
    }
    settle(remote);
    if (what === "take") take(remote.text);
    return what;
  }
  async function save(): Promise<void> {
    const now = text();
    if (now === exchanged.text || now.length > maxDraftLength) return;
    const answer = await place.save(now, exchanged.version);
    if (answer.saved) settle({ text: now, version: answer.version });
    else if (meet(answer) === "save") await save();
  }
  function inLine(task: () => Promise<unknown>): Promise<void> {
    const mine = line.then(task).then(
      () => undefined,
      () => undefined, // offline, or the session is gone: this browser keeps the text, and the next change or read tries again
    );
    line = mine;
    return mine;
  }
  return {
    isChanged: (now: string) => now !== exchanged.text,
    look: (signal: AbortSignal) =>
      inLine(async () => {
        if (signal.aborted) return;
        if (meet(await place.read(signal)) === "save") await save();
      }),
    save: () => inLine(save),
    settle,
    sent: () =>
      inLine(async () => {
        setOther(null);
        await place.clear();
        settle({ text: "", version: 0 });
      }),
  };
}

function keptExchange(storage: DraftStorage, name: string): Exchanged {
  const [version = "", ...text] = (storage.getItem(prefix + name) ?? "").split("\n");
  return { version: Number.parseInt(version, 10) || 0, text: text.join("\n") };
}

function keepExchange(storage: DraftStorage, name: string, { text, version }: Exchanged): void {
  try {
    if (text === "") storage.removeItem(prefix + name);
    else storage.setItem(prefix + name, `${version}\n${text}`);
  } catch {
    storage.removeItem(prefix + name); // storage is full: the next read asks which of two drafts to keep
  }
}
