import type { GitHub } from './client.ts';
import type { AppCredentials } from './settings.ts';

/** The App as the host knows it. */
export interface OwnApp {
  readonly id: number;
  /** Author of what it writes: `slug[bot]`. */
  readonly login: string;
}

const known = new WeakMap<GitHub, Map<string, OwnApp>>();

/** Asks the host once a process who the App is. Throws HostError. */
export async function ownApp(github: GitHub, app: AppCredentials, signal: AbortSignal): Promise<OwnApp> {
  const kept = known.get(github) ?? new Map<string, OwnApp>();
  known.set(github, kept);
  const found = kept.get(app.appId);
  if (found) return found;
  const { data } = await github.tokens.asApp(app, { route: 'GET /app', parameters: {} }, signal);
  if (data === null || data.slug === undefined) throw new Error('the host has shown no App');
  const asked = { id: Number(data.id), login: `${data.slug}[bot]` };
  kept.set(app.appId, asked);
  return asked;
}
