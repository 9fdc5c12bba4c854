/** What fields of these names mean in every view and body. */
const known: Readonly<Record<string, string>> = {
  id: 'Id of the row',
  scope: 'How far the row reaches: one workspace, its organization, or the platform',
  slug: 'Short name, unique in its scope',
  name: 'Name for people',
  display_name: 'Name for people',
  description: 'What it is for',
  kind: 'Which kind it is',
  type: 'Which type it is',
  status: 'Where it stands',
  state: 'Where it stands',
  role: 'Role by the ladder viewer, member, admin, owner, operator',
  email: 'Address of the person',
  q: 'Part of a name, without regard to case',
  from: 'Earliest instant, inclusive',
  to: 'Latest instant, exclusive',
  items: 'Items of the page',
  metadata: 'Facts of the client, kept as they are',
  attributes: 'Facts of the client, kept as they are',
  created_at: 'When the row was made',
  updated_at: 'When the row was last changed',
  expires_at: 'When it ends',
  started_at: 'When the work began',
  finished_at: 'When it ended; null before',
  is_active: 'Whether it is in use',
  version: 'Which version it is',
  error: 'What went wrong; null when nothing did',
  text: 'Text for people',
  title: 'Title for people',
  code: 'Which code it is',
  message: 'What happened, for people',
  latency_ms: 'Milliseconds of one round trip',
};

const bySuffix: readonly (readonly [RegExp, (subject: string) => string])[] = [
  [/_ids$/, (subject) => `Ids of the ${plural(subject)}`],
  [/_id$/, (subject) => `Id of the ${subject}`],
  [/_at$/, (subject) => `Instant: ${subject}`],
  [/_count$/, (subject) => `Number of ${plural(subject)}`],
  [/_ms$/, (subject) => `Milliseconds: ${subject}`],
  [/_s$/, (subject) => `Seconds: ${subject}`],
  [/_bytes$/, (subject) => `Bytes: ${subject}`],
];

/** A description for a field or parameter whose schema has none, by its name. */
export function describeName(name: string): string {
  const fixed = known[name];
  if (fixed !== undefined) return fixed;

  for (const [suffix, text] of bySuffix) {
    if (suffix.test(name)) return text(words(name.replace(suffix, '')));
  }
  if (/^(?:is|has|can)_/.test(name)) return `Whether it ${words(name)}`;
  return sentence(words(name));
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function plural(text: string): string {
  return text.endsWith('s') ? text : `${text}s`;
}
