/** The same meanings under another location, which has these fields too. */
export function under(location: string, meanings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(meanings).map(([name, meaning]) => [`${location}.${name}`, meaning]));
}
