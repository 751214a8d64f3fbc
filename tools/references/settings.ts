import { z } from "zod";
import { configFileSchema, otherVariables, type SettingSource, settingSources } from "../../src/app/settings.ts";
import { type JsonSchema, jsonSchemaSchema, typeInWords } from "./json-schema.ts";
import { code, generatedHead, table } from "./markdown.ts";

const lead = `All settings, generated from the schema with which the gateway reads them. [Configuration](../configuration.md) explains them with examples.

The order of precedence is: options of \`postern serve\`, environment variables, \`config.json\` in the state folder, defaults. An empty variable counts
as unset. An unknown key or an invalid value is an error, and the message contains the key. In the tables, a dot separates nested keys, and \`[]\` stands for each entry of a list.`;

/** `docs/reference/settings.md`. */
export function settingsReference(): string {
  const schema = jsonSchemaSchema.parse(z.toJSONSchema(configFileSchema, { io: "input", unrepresentable: "any" }));
  const settings = flatten(schema, { prefix: "", needed: false });
  const variables = Object.entries(otherVariables).map(([name, words]) => [code(name), words]);
  return `${generatedHead("Settings", lead)}
## In \`config.json\`

${table(["key", "variable, option", "type", "default", ""], settings.map(row))}

## Other variables

${table(["variable", ""], variables)}

Vendors' variables (\`ANTHROPIC_API_KEY\`, \`OPENAI_API_KEY\`, …) in the gateway's environment are passed only to the agents that use them.
`;
}

interface Setting {
  readonly key: string;
  readonly schema: JsonSchema;
  readonly needed: boolean;
  readonly isGroup: boolean;
}

/** For keys whose schema also accepts text instead of a boolean. */
const defaults: ReadonlyMap<string, unknown> = new Map(Object.entries(configFileSchema.parse({})));
const sources: ReadonlyMap<string, SettingSource> = new Map(Object.entries(settingSources));

function row({ key, schema, needed, isGroup }: Setting): readonly string[] {
  const source = sources.get(key);
  const from =
    source === undefined ? [] : [source.variable, source.option ?? ""].filter((name) => name !== "").map(code);
  const inList = source?.form === "list" ? " (comma-separated)" : "";
  const known = schema.default === undefined ? defaults.get(key) : schema.default;
  const fallback = known === undefined || isGroup ? "" : code(JSON.stringify(known));
  return [
    code(key),
    from.join(", ") + inList,
    isGroup ? "" : typeOf(schema),
    needed ? "required" : fallback,
    schema.description ?? "",
  ];
}

function typeOf(schema: JsonSchema): string {
  // Text instead of a boolean is for environment variables.
  const words = typeInWords(schema).replace("text or true or false", "true or false");
  return words.startsWith("list of object")
    ? "list"
    : words.replaceAll(/(list of text).*?(characters) or \1.*?\2/g, "list of text, or of lists of text");
}

/** Each key with its nested keys; for a union, the keys of all its forms. */
function flatten(
  schema: JsonSchema,
  { prefix, needed }: { readonly prefix: string; readonly needed: boolean },
): readonly Setting[] {
  const below = [schema.items ?? schema]
    .flatMap((each) => each.anyOf ?? each.oneOf ?? [each])
    .filter(({ properties }) => properties);
  const within = schema.items === undefined ? prefix : `${prefix}[]`;
  const found = new Map<string, Setting>();
  for (const { properties = {}, required = [] } of below) {
    for (const [name, inner] of Object.entries(properties)) {
      const key = within === "" ? name : `${within}.${name}`;
      for (const setting of flatten(inner, { prefix: key, needed: required.includes(name) })) {
        found.set(setting.key, merge(found.get(setting.key), setting));
      }
    }
  }
  if (prefix === "") return [...found.values()];
  return [{ key: prefix, schema, needed, isGroup: below.length > 0 && schema.items === undefined }, ...found.values()];
}

/** A key in several forms is required if all of them require it. */
function merge(before: Setting | undefined, setting: Setting): Setting {
  if (before === undefined) return setting;
  if (before.schema.const === undefined) return { ...before, needed: before.needed && setting.needed };
  return {
    ...before,
    schema: { ...before.schema, const: undefined, enum: [before.schema.const, setting.schema.const] },
  };
}
