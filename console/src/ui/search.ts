/** Reads named texts out of an address; what is none, or empty, is left out. */
export function textsOf<Name extends string>(names: readonly Name[]) {
  return (search: Readonly<Record<string, unknown>>): { readonly [K in Name]?: string } => {
    const found = names.flatMap((name) => {
      const value = search[name];
      return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
    });
    return Object.fromEntries(found) as { readonly [K in Name]?: string }; // of these names alone
  };
}

/** The value of a text of an address, if it is one of those that are known. */
export function oneOf<T extends string>(known: readonly T[], value: string | undefined): T | undefined {
  return known.find((one) => one === value);
}
