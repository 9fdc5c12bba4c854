import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { Violation, ViolationSource } from '../../../workflows/contracts/failure.ts';
import { forRequests } from './ajv-schema.ts';
import { formats, normalForms } from './formats.ts';
import { faultOfFreeObject, type BoundFault } from './free-object.ts';
import { toViolations } from './violations.ts';

/** Checks one part of a request in place: fills defaults and brings ids and instants into their normal form. */
export interface Validator {
  /** The violations, none when valid. `isExhaustive` lists all of them instead of the first. */
  check(value: unknown, isExhaustive: boolean): readonly Violation[];
}

interface Holder {
  readonly parentData: Record<string | number, unknown>;
  readonly parentDataProperty: string | number;
}

const common: Options = {
  removeAdditional: false,
  coerceTypes: false,
  useDefaults: true,
  ownProperties: true,
  strict: true,
  allowUnionTypes: true,
  discriminator: true,
  // Errors bring their schema, of which a message names the allowed forms.
  verbose: true,
  formats,
  keywords: ['x-id-of', 'x-extensible-enum'],
  // A test checks our schemas against the meta-schema; compiling it takes a process as long as its first thirty operations.
  validateSchema: false,
};

/** Ajv reads the errors of a keyword from the function itself. */
const checkFreeObject: { (isFree: boolean, value: unknown): boolean; errors?: Partial<ErrorObject>[] } = (isFree, value) => {
  const fault: BoundFault | null = isFree ? faultOfFreeObject(value) : null;
  checkFreeObject.errors = fault ? [fault] : [];
  return fault === null;
};

const first = withKeywords(new Ajv2020({ ...common, allErrors: false }));
const all = withKeywords(new Ajv2020({ ...common, allErrors: true, useDefaults: false }));

/** A validator for one schema. Both compilations wait for their first use: few operations are called in a short life, fewer fail. */
export function validatorFor(schema: TSchema, source: ViolationSource): Validator {
  let quick: ValidateFunction | undefined;
  let exhaustive: ValidateFunction | undefined;

  return {
    check(value, isExhaustive) {
      quick ??= first.compile(forRequests(schema));
      if (quick(value)) return [];
      if (!isExhaustive) return toViolations(source, quick.errors ?? []);

      exhaustive ??= all.compile(forRequests(schema));
      exhaustive(value);
      return toViolations(source, exhaustive.errors?.length ? exhaustive.errors : (quick.errors ?? []));
    },
  };
}

function withKeywords(ajv: Ajv2020): Ajv2020 {
  ajv.addKeyword({
    keyword: 'x-normal-form',
    type: 'string',
    modifying: true,
    errors: false,
    compile: (form: keyof typeof normalForms) => (text: string, holder?: Holder) => {
      if (holder && formats[form](text)) holder.parentData[holder.parentDataProperty] = normalForms[form](text);
      return true;
    },
  });
  ajv.addKeyword({ keyword: 'x-free-object', type: 'object', errors: true, validate: checkFreeObject });
  return ajv;
}
