import { createRequire } from 'node:module';
import { Ajv, type Options, type SchemaObject } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import draft04 from 'ajv-draft-04';
import type { SchemaDialect } from '../../workflows/contracts/tools/schema-dialect.ts';
import { linearPattern } from './schema-patterns.ts';

const draft06Meta = createRequire(import.meta.url)('ajv/dist/refs/json-schema-draft-06.json') as SchemaObject; // a file of the package

const options: Options = {
  strict: false,
  allErrors: true,
  ownProperties: true,
  validateFormats: false,
  logger: false,
  code: { regExp: Object.assign(linearPattern, { code: 'linearPattern' }) },
};
/** Up to draft-07, keywords beside `$ref` are ignored (draft-07 §8.3). */
const upTo07: Options = { ...options, ignoreKeywordsWithRef: true };

/** Keywords that a draft added to the one before, and that its compiler does not distinguish. */
const since06: readonly string[] = ['const', 'contains', 'propertyNames'];
const since07: readonly string[] = ['if', 'then', 'else'];

/** Returns a compiler with the rules of one draft. A new one each time: it keeps what it has compiled. */
export function compilerOf(dialect: SchemaDialect): Pick<Ajv, 'compile'> {
  switch (dialect) {
    case 'draft-04':
      return without(new draft04.default(upTo07), [...since06, ...since07]);
    case 'draft-06':
      return without(new Ajv({ ...upTo07, meta: draft06Meta }), ['id', ...since07]);
    case 'draft-07':
      return without(new Ajv(upTo07), ['id']);
    case '2019-09':
      return without(new Ajv2019(options), ['id']);
    case '2020-12':
      return without(new Ajv2020(options), ['id']);
    default:
      return dialect satisfies never;
  }
}

/** Keywords that the draft does not know are ignored; Ajv itself refuses `id`, which some authors use for a property of their own. */
function without(compiler: Pick<Ajv, 'compile' | 'removeKeyword'>, keywords: readonly string[]): Pick<Ajv, 'compile'> {
  for (const keyword of keywords) compiler.removeKeyword(keyword);
  return compiler;
}
