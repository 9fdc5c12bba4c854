import Type from 'typebox';
import { Value } from 'typebox/value';
import { checkUrlForm, type Egress, type EgressRequest, type EgressResponse } from '../../../ports/egress/egress.ts';
import type { PageJob, PageText } from '../../../ports/parsing/formats/page-work.ts';
import type { WorkPool } from '../../../ports/untrusted/pool.ts';
import { WorkLimit, WorkProblem } from '../../../ports/untrusted/work-errors.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import { bodyOutcome } from '../calls/output.ts';

/** Config of a tool of kind `web_fetch` as the API stored it. */
const WebFetchConfig = Type.Object({
  allow_domains: Type.Optional(Type.Array(Type.String())),
  deny_domains: Type.Optional(Type.Array(Type.String())),
  max_bytes: Type.Optional(Type.Integer()),
  format: Type.Optional(Type.String()),
  robots: Type.Optional(Type.Boolean()),
  cache_s: Type.Optional(Type.Integer()),
});

interface CachedPage {
  readonly page: { readonly title: string | null; readonly text: string; readonly url: string };
  readonly until: number;
}

/** What one process holds for `web_fetch`: the pool that reads pages, and a small cache per workspace. */
export interface WebPages {
  /** Returns the text of a page, or why it has none. Throws WorkLimit, WorkProblem, and `service_unavailable` as the pool does. */
  read(page: ReadPage): Promise<PageText>;
  /** Whether a robots.txt lets Longhaul read the page. One that can't be read in time allows nothing. */
  allows(robots: ReadRobots): Promise<boolean>;
  readonly cache: Map<string, CachedPage>;
}

interface ReadPage extends PageJob {
  readonly organizationId: string | null;
  readonly signal?: AbortSignal;
}

interface ReadRobots {
  readonly organizationId: string | null;
  readonly url: string;
  readonly text: string;
  readonly page: string;
  readonly signal: AbortSignal;
}

const cachedPages = 200;
const maxRobotsBytes = 500 * 1024;
const robotsAgent = 'longhaul';
const redirects = 3;

export function createWebPages(pool: Pick<WorkPool, 'run'>): WebPages {
  return {
    cache: new Map(),
    read: ({ organizationId, signal, ...job }) => pool.run('page', { organizationId, job, subject: () => job.body, signal }),
    async allows({ organizationId, signal, ...robots }) {
      try {
        const job = { ...robots, agent: robotsAgent };
        return await pool.run('robots', { organizationId, job, subject: () => robots.text, signal });
      } catch (error) {
        if (error instanceof WorkLimit || error instanceof WorkProblem) return false;
        throw error;
      }
    },
  };
}

/** Reads one page: a guarded GET; HTML and PDF become text, from `offset` on. */
export async function executeWebFetch({ egress, pages }: ToolDeps, execution: ToolExecution): Promise<ToolOutcome> {
  const config = Value.Parse(WebFetchConfig, execution.tool.config);
  const { url, offset } = execution.args;
  if (typeof url !== 'string' || !URL.canParse(url)) return failed('invalid_arguments', 'url must be an absolute URL', false);
  const asked = checkUrlForm(url, execution.policy); // before the cache: a withdrawn exception takes effect at once
  asked.hash = '';
  if (!isAllowedDomain(asked.hostname, config.allow_domains ?? [], config.deny_domains ?? [])) {
    return failed('egress_refused', 'the tool does not allow this domain', false, 'domain');
  }
  const format = config.format === 'raw' || config.format === 'text' ? config.format : 'markdown';
  const cacheKey = `${execution.place.workspaceId} ${JSON.stringify(config)} ${asked.href}`; // a stricter tool never gets what a laxer one has cached
  const cached = pages.cache.get(cacheKey);
  const start = typeof offset === 'number' && offset > 0 ? Math.trunc(offset) : 0;
  if (cached && cached.until > performance.now()) return pageOutcome(cached.page, start, true);

  if ((config.robots ?? true) && !(await isAllowedByRobots({ egress, pages }, asked, execution)))
    return failed('egress_refused', 'robots.txt of the site does not allow this page', false, 'robots');
  // Checks each hop before it is requested: a redirect must not lead the tool where it may not go.
  const answer = await fetchPage(egress, asked.href, {
    policy: execution.policy,
    signal: execution.signal,
    maxBytes: config.max_bytes ?? 2 * 1024 * 1024,
    mayFollow: async (next) =>
      isAllowedDomain(next.hostname, config.allow_domains ?? [], config.deny_domains ?? []) &&
      (config.robots === false || (await isAllowedByRobots({ egress, pages }, next, execution))),
  });
  if (answer.status < 200 || answer.status > 299) {
    return failed(
      'upstream_status',
      `the server answered ${answer.status}`,
      answer.status === 429 || answer.status >= 500,
      String(answer.status),
    );
  }
  const job = { body: answer.body, contentType: answer.headers['content-type'] ?? '', url: answer.url, format } as const;
  const { organizationId } = execution.place;
  const read = await pages.read({ ...job, organizationId, signal: execution.signal }).catch(unreadable);
  if (read === null) return bodyOutcome({ ...answer, headers: { ...answer.headers, 'content-type': mediaTypeOf(answer) } });
  if ('status' in read) return read;

  const page = { ...read, url: answer.url };
  remember(pages.cache, cacheKey, { page, until: performance.now() + (config.cache_s ?? 300) * 1_000 });
  return pageOutcome(page, start, false);
}

/** Returns the failed result for a page that can't be converted to text; rethrows any other error. */
function unreadable(error: unknown): ToolOutcome {
  if (error instanceof WorkLimit) return failed('upstream_status', `the page ${error.message} to read`, false, 'unreadable');
  if (error instanceof WorkProblem) return failed('upstream_status', 'the page is damaged, or only a part of a file', false, 'unreadable');
  throw error;
}

/** These bytes are stored as a file even when the server declares them as text. */
function mediaTypeOf(answer: EgressResponse): string {
  const told = answer.headers['content-type'] ?? '';
  return told.startsWith('text/') ? 'application/octet-stream' : told;
}

function pageOutcome(page: CachedPage['page'], start: number, cached: boolean): ToolOutcome {
  const head = `${page.title === null ? '' : `Title: ${page.title}\n`}URL: ${page.url}\n\n`;
  return { status: 'succeeded', type: 'text', text: head + page.text.slice(start), cached };
}

function fetchPage(
  egress: Egress,
  url: string,
  options: Pick<EgressRequest, 'policy' | 'signal' | 'maxBytes' | 'mayFollow'>,
): Promise<EgressResponse> {
  const headers = { accept: 'text/markdown, text/html;q=0.9, text/plain;q=0.9, application/pdf;q=0.8, */*;q=0.1' };
  return egress.fetch({ method: 'GET', url, headers, redirects, headersTimeoutMs: 30_000, ...options });
}

/** RFC 9309: a robots.txt that is absent (4xx) allows everything, one that can't be fetched (5xx, no answer) allows nothing. */
async function isAllowedByRobots(
  { egress, pages }: Pick<ToolDeps, 'egress' | 'pages'>,
  page: URL,
  execution: ToolExecution,
): Promise<boolean> {
  const url = new URL('/robots.txt', page).href;
  const answer = await fetchPage(egress, url, { policy: execution.policy, signal: execution.signal, maxBytes: maxRobotsBytes });
  if (answer.status >= 500) return false;
  if (answer.status < 200 || answer.status > 299) return true;
  const { organizationId } = execution.place;
  return pages.allows({ organizationId, url, text: new TextDecoder().decode(answer.body), page: page.href, signal: execution.signal });
}

function remember(cache: Map<string, CachedPage>, key: string, entry: CachedPage): void {
  cache.delete(key);
  if (cache.size >= cachedPages) cache.delete(cache.keys().next().value ?? '');
  cache.set(key, entry);
}

/** Whether a host is within the domains that a tool allows, subdomains included; without a list, all hosts are allowed except the denied ones. */
export function isAllowedDomain(hostname: string, allow: readonly string[], deny: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  const isWithin = (domain: string) => {
    const name = domain.toLowerCase().replace(/\.$/, '');
    return host === name || host.endsWith(`.${name}`);
  };
  if (deny.some(isWithin)) return false;
  return allow.length === 0 || allow.some(isWithin);
}
