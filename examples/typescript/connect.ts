import { Longhaul } from '../../clients/typescript/src/index.ts'; // outside this repository: '@longhaul/client'

/** The deployment and the agent that the environment names. */
export function connect(): { readonly longhaul: Longhaul; readonly agent: string } {
  const { LONGHAUL_URL: baseUrl, LONGHAUL_SERVICE_KEY: serviceKey, LONGHAUL_AGENT: agent } = process.env;
  if (!baseUrl || !serviceKey) throw new Error('set LONGHAUL_URL and LONGHAUL_SERVICE_KEY, and LONGHAUL_AGENT unless the agent is guide');
  return { longhaul: new Longhaul({ baseUrl, serviceKey }), agent: agent ?? 'guide' };
}
