import { useEffect, type RefObject } from 'react';
import { ApiError } from '@longhaul/client';

/** What a refusal says about the fields of a form, by JSON pointer, and what it says beside them. */
export interface FieldErrors {
  readonly at: ReadonlyMap<string, string>;
  readonly rest: readonly string[];
}

/**
 * Sorts the messages of a refusal to the fields that show them. A message about a part of a field (`/tags/2`) belongs to the field (`/tags`), the nearest one;
 * those of no field are left over.
 */
export function errorsByField(error: unknown, fields: readonly string[]): FieldErrors {
  const at = new Map<string, string>();
  const rest: string[] = [];
  for (const { pointer, name, message } of error instanceof ApiError ? error.errors : []) {
    const field = nearest(pointer ?? (name === null ? null : `/${name}`), fields);
    if (field === null) rest.push(`${pointer ?? name ?? ''} ${message}`.trim());
    else at.set(field, at.has(field) ? `${at.get(field)} ${message}` : message);
  }
  return { at, rest };
}

function nearest(place: string | null, fields: readonly string[]): string | null {
  if (place === null) return null;
  const around = fields.filter((field) => place === field || place.startsWith(`${field}/`));
  return around.toSorted((a, b) => b.length - a.length)[0] ?? null;
}

/**
 * The same for a form on screen: the first field that is wrong gets the focus. Give the message to the field (`error={errors.at('/name')}`) and the fields to the
 * notice on top (`<Fault error={error} fields={fields} />`), which shows the rest.
 */
export function useFieldErrors(error: unknown, fields: readonly string[], form: RefObject<HTMLElement | null>) {
  const { at, rest } = errorsByField(error, fields);
  useEffect(() => {
    if (at.size > 0)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid] :is(input, textarea, button)')?.focus();
    // Once for each refusal.
  }, [error]);
  return { at: (pointer: string) => at.get(pointer) ?? null, rest };
}
