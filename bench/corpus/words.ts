import type { Random } from "./random.ts";

/** Prompts in several languages, with a placeholder for something in the project. */
const prompts: Readonly<Record<string, readonly [string, ...string[]]>> = {
  en: [
    "Fix the flaky test in %s",
    "Why does %s throw when the list is empty?",
    "Refactor %s so that it no longer depends on the global configuration",
    "Add pagination to %s and document it",
    "please go on",
    "Write a migration for %s; it has to run without a lock on the table.",
    'Rename "%s" everywhere, then run the whole test suite',
  ],
  de: [
    "Bitte behebe den Fehler in %s – er tritt nur bei Umlauten auf",
    "Erkläre mir, wie %s geprüft wird",
    "mach weiter",
  ],
  fr: ["Peux-tu vérifier pourquoi %s échoue à l'intégration ?", "Ajoute des tests pour %s, s'il te plaît"],
  es: ["¿Por qué falla %s en producción?", "Añade validación a %s y explícame los cambios"],
  ru: ["Почини %s, тест падает через раз", "Объясни, зачем нужен %s"],
  ja: ["%sのテストが時々失敗する原因を調べてください", "%sをリファクタリングして、設定への依存をなくして", "続けて"],
  zh: ["请修复%s里的分页错误", "为什么%s在列表为空时会抛出异常？", "继续"],
  ko: ["%s에서 발생하는 오류를 고쳐 주세요", "%s 문서를 작성해 줘"],
  ar: ["أصلح الخطأ في %s من فضلك"],
};

const things = [
  ...["checkout", "the payment worker", "InvoiceRepository", "src/auth/session.ts", "the search index", "useCart()"],
  ...["api/orders", "the retry queue", "LoginForm.tsx", "the CSV export", "cmd/server/main.go", "the nightly job"],
] as const;

const sentences: Readonly<Record<string, readonly [string, ...string[]]>> = {
  en: [
    "I found the cause: the cursor was compared before it was normalised.",
    "All 214 tests pass now.",
    "The change is small, but two callers relied on the old order, so I adapted them.",
    "```ts\nconst page = items.slice(offset, offset + limit);\n```",
    "Note that `null` is a legal value here.",
  ],
  de: ["Die Ursache war eine doppelte Kodierung.", "Alle Tests laufen jetzt grün, auch die mit „Größe“ und „Straße“."],
  fr: ["L'erreur venait d'un décalage horaire.", "J'ai ajouté quatre tests ; tout passe."],
  es: ["El fallo estaba en la comparación de fechas.", "Añadí una comprobación y su prueba."],
  ru: ["Причина была в гонке между двумя запросами.", "Теперь все тесты проходят."],
  ja: [
    "原因はタイムゾーンの扱いでした。",
    "修正後、すべてのテストが通りました。",
    "詳しくは`README.md`をご覧ください。",
  ],
  zh: ["问题出在缓存没有失效。", "现在所有测试都通过了。", "我还更新了相关文档。"],
  ko: ["원인은 캐시 무효화 누락이었습니다.", "이제 모든 테스트가 통과합니다."],
  ar: ["كان السبب في ترتيب العمليات."],
};

const titles = [
  "Fix flaky checkout test",
  "Paginate the order list",
  "決済処理の修正",
  "Umlaute im Export",
  "搜索索引重建",
] as const;

/** Languages and how often each is spoken, of a hundred. */
const shares = [
  ...[
    ["en", 58],
    ["ja", 9],
    ["zh", 9],
    ["de", 8],
    ["fr", 5],
    ["es", 4],
    ["ru", 3],
    ["ko", 3],
    ["ar", 1],
  ],
] as const satisfies readonly (readonly [string, number])[];

/** The language of a session. */
export function language(random: Random): string {
  let left = random.next() * 100;
  for (const [name, share] of shares) {
    left -= share;
    if (left < 0) return name;
  }
  return "en";
}

/** A prompt. */
export function promptText(random: Random, spoken: string): string {
  const text = random.pick(prompts[spoken] ?? ["go on"]).replace("%s", random.pick(things));
  if (random.chance(0.85)) return text;
  return `${text}\n\n\tError: 予期しない "token" 😀 at line ${random.between(1, 900)}\n${text}`;
}

/** An answer of one to six sentences. */
export function answerText(random: Random, spoken: string): string {
  const from = sentences[spoken] ?? ["Done."];
  return Array.from({ length: random.between(1, 6) }, () => random.pick(from)).join(random.chance(0.2) ? "\n\n" : " ");
}

/** A title as an agent gives it. */
export function titleText(random: Random): string {
  return `${random.pick(titles)} ${random.between(1, 9_999)}`;
}
