import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { readToolConfig } from '../../db/secrets/secret-use.ts';

type Config = Readonly<Record<string, unknown>>;

/** Where the config of a tool or toolkit sends the secrets that it names. */
export interface SecretAim {
  /** Names of the secrets. */
  readonly names: readonly string[];
  /** Origins that get the values of the secrets. */
  readonly values: readonly string[];
  /** Origins that get only what was derived from the values: access tokens. */
  readonly tokens: readonly string[];
}

/** The address of searches whose config names none. */
export const braveSearchUrl = 'https://api.search.brave.com/res/v1/web/search';

/** The aim of a config of any kind; includes its origins even when it names no secret. */
export function secretAimOf(config: Config): SecretAim {
  const auth = isObject(config['auth']) ? config['auth'] : {};
  const headers = isObject(auth['headers']) ? Object.values(auth['headers']) : [];
  const names = [auth['secret'], config['secret'], ...headers].filter((name) => typeof name === 'string');
  const address = config['url'] ?? config['base_url'] ?? (config['provider'] === 'brave' ? braveSearchUrl : undefined);
  const tokenUrl = auth['token_url'];
  const [values, tokens] = typeof tokenUrl === 'string' ? [tokenUrl, address] : [address, undefined];
  return { names: [...new Set(names)], values: originsOf(values), tokens: originsOf(tokens) };
}

/** Whether a config sends its secret values, or what is derived from them, to an origin that did not get them before. */
export function isAimedAnew(before: Config, after: Config): boolean {
  const [from, to] = [secretAimOf(before), secretAimOf(after)];
  return (
    to.values.some((origin) => !from.values.includes(origin)) ||
    to.tokens.some((origin) => !from.values.includes(origin) && !from.tokens.includes(origin))
  );
}

/** Names of the secrets that a config sends to an origin to which the former config, if any, did not send them. */
export function namesAimedAnew(before: Config | null, after: Config): string[] {
  const { names } = secretAimOf(after);
  if (before === null || isAimedAnew(before, after)) return [...names];
  const known = secretAimOf(before).names;
  return names.filter((name) => !known.includes(name));
}

/** Whether a pinned config sends secrets only where the tool's current row does: false when the tool no longer exists. */
export async function isAimedAsNow(tx: TenantTransaction, toolId: string, pinned: Config): Promise<boolean> {
  const now = await readToolConfig(tx, toolId);
  return now !== null && !isAimedAnew(now, pinned);
}

function originsOf(url: unknown): string[] {
  // The rest of the address may be a template.
  const literal = typeof url === 'string' ? (/^https?:\/\/[^/?#{}%\s\\]+/i.exec(url)?.[0] ?? '') : '';
  return URL.canParse(literal) ? [new URL(literal).origin] : [];
}

function isObject(value: unknown): value is Config {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
