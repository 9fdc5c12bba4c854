import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { itemFields } from '../transfer/bundle-rows.ts';

const Fields = Type.Object({
  ...itemFields,
  curation_state: Type.Optional(Type.Union([Type.Literal('pending'), Type.Literal('reviewed')])),
});
const form = Compile(Fields);

/** The members of a JSON element beside its content and title: those of a new item. */
export type ElementFields = Static<typeof Fields>;

/**
 * Returns the members of an element that are fields of an item, without null ones, or what is wrong with them. Ignores others: files of every kind may contain
 * any.
 */
export function readElementFields(members: Readonly<Record<string, unknown>>): ElementFields | { readonly fault: string } {
  const given = Object.entries(members).filter(([name, value]) => Object.hasOwn(Fields.properties, name) && value !== null);
  const fields: unknown = Object.fromEntries(given);
  if (form.Check(fields)) return fields;
  const [error] = form.Errors(fields);
  return { fault: `${error?.instancePath ?? ''} ${error?.message ?? 'has another form'}`.trim().slice(0, 200) };
}
