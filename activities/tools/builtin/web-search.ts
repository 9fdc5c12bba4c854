import type { WebSearchToolConfig } from '../../../db/tools/kind-config.ts';
import { readBodyText } from '../../../ports/egress/body-text.ts';
import type { EgressResponse } from '../../../ports/egress/egress.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import { truncateText } from '../calls/output.ts';
import { searchProviders, type FoundRow } from './search-providers.ts';
import { isAllowedDomain } from './web-fetch.ts';

const maxBytes = 2 * 1024 * 1024;
const maxTitle = 300;
const maxSnippet = 1_000;
const maxUrl = 2_048;

/** What the model gets for each hit. */
interface SearchRow {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly published_at: string | null;
}

/** Queries a search service once; returns its rows in its order, limited to the domains that the tool allows, each address once. */
export async function executeWebSearch({ egress }: Pick<ToolDeps, 'egress'>, execution: ToolExecution): Promise<ToolOutcome> {
  // The API validated and completed it before it was stored.
  const config = execution.tool.config as unknown as WebSearchToolConfig;
  const { query } = execution.args;
  if (typeof query !== 'string' || query.trim() === '') return failed('invalid_arguments', 'query must be a text', false);
  const key = config.secret === null ? null : await execution.secret(config.secret);
  if (config.secret !== null && key === null) return failed('secret_missing', `the secret ${config.secret} has no value`, false);

  const provider = searchProviders[config.provider];
  const asked = provider.ask(config, withDomains(query.trim(), config), key);
  const answer = await egress.fetch({
    method: 'GET',
    ...asked,
    policy: execution.policy,
    redirects: 0, // the key goes only to its own service
    maxBytes,
    headersTimeoutMs: 2 * execution.timeoutMs, // the deadline of the execution fires first
    signal: execution.signal,
  });
  if (answer.status !== 200) {
    const isBusy = answer.status === 429 || answer.status >= 500;
    return failed('upstream_status', `the search service answered ${answer.status}`, isBusy, String(answer.status));
  }
  const found = answer.isTruncated ? null : provider.read(config, parsed(answer));
  if (found === null) return failed('upstream_status', 'the search service answered something else than results', true, 'not_understood');
  return { status: 'succeeded', type: 'json', value: { results: cleaned(found, config) } };
}

/** Services know `site:`; the rows are filtered again, however a service interprets it. */
function withDomains(query: string, { include_domains: include, exclude_domains: exclude }: WebSearchToolConfig): string {
  const only = include.length === 0 ? [] : [`(${include.map((domain) => `site:${domain}`).join(' OR ')})`];
  return [query, ...only, ...exclude.map((domain) => `-site:${domain}`)].join(' ');
}

function cleaned(found: readonly FoundRow[], config: WebSearchToolConfig): SearchRow[] {
  const rows = new Map<string, SearchRow>();
  for (const row of found) {
    if (rows.size >= config.max_results) break;
    if (typeof row.url !== 'string' || row.url.length > maxUrl || !URL.canParse(row.url)) continue;
    const url = new URL(row.url);
    const isPage = url.protocol === 'https:' || url.protocol === 'http:';
    if (!isPage || rows.has(url.href) || !isAllowedDomain(url.hostname, config.include_domains, config.exclude_domains)) continue;
    rows.set(url.href, {
      title: plain(row.title, maxTitle),
      url: url.href,
      snippet: plain(row.snippet, maxSnippet),
      published_at: timeOf(row.publishedAt),
    });
  }
  return [...rows.values()];
}

const entities: Readonly<Record<string, string>> = {
  'amp': '&',
  'lt': '<',
  'gt': '>',
  'quot': '"',
  'apos': "'",
  'nbsp': ' ',
  '#39': "'",
  '#x27': "'",
};

/** Services mark the words of the query with tags; the model needs plain text. */
function plain(text: unknown, maxChars: number): string {
  if (typeof text !== 'string') return '';
  const bare = text
    .slice(0, maxChars * 4)
    .replaceAll(/<\/?[a-z][^<>]{0,200}>/gi, '')
    .replaceAll(/&(#?\w{1,6});/g, (whole, name: string) => entities[name.toLowerCase()] ?? whole)
    .replaceAll(/\s+/g, ' ');
  return truncateText(bare.trim(), maxChars);
}

/** Returns ISO 8601; null for a value that can't be read as a time. */
function timeOf(told: unknown): string | null {
  if (typeof told !== 'string' && typeof told !== 'number') return null;
  const time = new Date(told);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

function parsed({ body, headers }: EgressResponse): unknown {
  try {
    return JSON.parse(readBodyText({ bytes: body, contentType: headers['content-type'] ?? 'application/json' }) ?? '');
  } catch {
    return null;
  }
}
