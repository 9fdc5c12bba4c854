import { braveSearchUrl } from '../../../domain/secrets/secret-aim.ts';
import type { WebSearchToolConfig } from '../../../db/tools/kind-config.ts';
import { valueAt } from '../../../ports/json/pointer.ts';

/** One request to a search service. */
export interface SearchRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A row as the service returned it, before it is cleaned. */
export interface FoundRow {
  readonly title: unknown;
  readonly url: unknown;
  readonly snippet: unknown;
  readonly publishedAt: unknown;
}

/** How to query one kind of service and read its answer. `ask` gets the query with its operators, and the key, null when the tool names none. */
export interface SearchProvider {
  readonly ask: (config: WebSearchToolConfig, query: string, key: string | null) => SearchRequest;
  /** Null: the answer does not have this service's shape. */
  readonly read: (config: WebSearchToolConfig, answer: unknown) => readonly FoundRow[] | null;
}

const braveFreshness = { day: 'pd', week: 'pw', month: 'pm', year: 'py' } as const;
/** Rows to request when some of them may be of domains that the tool does not allow. */
const spareRows = 20;

export const searchProviders: Readonly<Record<WebSearchToolConfig['provider'], SearchProvider>> = {
  // docs.searxng.org, Search API: the operator of the instance has to enable JSON, otherwise it answers 403.
  searxng: {
    ask: (config, query, key) => {
      const base = config.base_url ?? '';
      const url = new URL(base.endsWith('/search') ? base : `${base.replace(/\/+$/, '')}/search`);
      setAll(url, { q: query, format: 'json', language: config.region, time_range: config.freshness });
      return { url: url.href, headers: bearer(key) };
    },
    read: (_config, answer) =>
      rowsOf(valueAt(answer, '/results'), { title: '/title', url: '/url', snippet: '/content', publishedAt: '/publishedDate' }),
  },

  // api-dashboard.search.brave.com, Web Search: a search without results has no `web`.
  brave: {
    ask: (config, query, key) => {
      const url = new URL(config.base_url ?? braveSearchUrl);
      const [language, country] = regionOf(config.region);
      setAll(url, {
        q: query,
        count: String(rowsToAsk(config)),
        country,
        search_lang: language,
        freshness: config.freshness === null ? null : braveFreshness[config.freshness],
        text_decorations: 'false',
      });
      return { url: url.href, headers: { 'accept': 'application/json', 'x-subscription-token': key ?? '' } };
    },
    read: (_config, answer) =>
      valueAt(answer, '/type') === 'search' && valueAt(answer, '/web') === undefined
        ? []
        : rowsOf(valueAt(answer, '/web/results'), { title: '/title', url: '/url', snippet: '/description', publishedAt: '/page_age' }),
  },

  http_json: {
    ask: ({ base_url, mapping, ...config }, query, key) => {
      const url = new URL(base_url ?? '');
      setAll(url, { [mapping?.query ?? 'q']: query });
      if (mapping?.count) url.searchParams.set(mapping.count, String(rowsToAsk({ base_url, mapping, ...config })));
      const header = (mapping?.key_header ?? 'authorization').toLowerCase();
      const isBearer = header === 'authorization';
      return { url: url.href, headers: key === null ? jsonOnly : isBearer ? bearer(key) : { ...jsonOnly, [header]: key } };
    },
    read: ({ mapping }, answer) =>
      rowsOf(valueAt(answer, mapping?.results ?? '/results'), {
        title: mapping?.title ?? '/title',
        url: mapping?.url ?? '/url',
        snippet: mapping?.snippet ?? '/snippet',
        publishedAt: mapping?.published_at ?? null,
      }),
  },
};

const jsonOnly = { accept: 'application/json' } as const;

function bearer(key: string | null): Record<string, string> {
  return key === null ? { ...jsonOnly } : { ...jsonOnly, authorization: `Bearer ${key}` };
}

function rowsToAsk(config: WebSearchToolConfig): number {
  return config.include_domains.length + config.exclude_domains.length > 0 ? spareRows : config.max_results;
}

function setAll(url: URL, values: Readonly<Record<string, string | null>>): void {
  for (const [name, value] of Object.entries(values)) if (value !== null) url.searchParams.set(name, value);
}

/** `de` stands for both a language and a country, `de-AT` names both. */
function regionOf(region: string | null): [language: string | null, country: string | null] {
  if (region === null) return [null, null];
  const [language = '', country] = region.split('-');
  return country === undefined ? [null, language.toUpperCase()] : [language.toLowerCase(), country.toUpperCase()];
}

function rowsOf(
  found: unknown,
  at: { readonly title: string; readonly url: string; readonly snippet: string; readonly publishedAt: string | null },
): readonly FoundRow[] | null {
  if (!Array.isArray(found)) return null;
  return found.map((row: unknown) => ({
    title: valueAt(row, at.title),
    url: valueAt(row, at.url),
    snippet: valueAt(row, at.snippet),
    publishedAt: at.publishedAt === null ? null : valueAt(row, at.publishedAt),
  }));
}
