import { Longhaul, type LonghaulOptions } from '../../../clients/typescript/src/index.ts';
import { startScenario, type Scenario } from '../../support/scenario.ts';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts';

/** A deployment with the client's package before it, over a proxy that can cut. */
export interface ClientWorld extends Scenario {
  readonly proxy: CuttingProxy;
  /** As the tenant's service key, over the proxy. */
  readonly longhaul: Longhaul;
  client(options?: Partial<LonghaulOptions>): Longhaul;
}

export async function startClientWorld(): Promise<ClientWorld> {
  const scenario = await startScenario();
  const proxy = await startCuttingProxy(() => scenario.stack.url());
  const client = (options: Partial<LonghaulOptions> = {}) =>
    new Longhaul({
      baseUrl: proxy.url,
      ...('session' in options ? {} : { serviceKey: scenario.stack.tenant.serviceKey.plaintext }),
      ...options,
    });

  return {
    ...scenario,
    proxy,
    client,
    longhaul: client(),
    stop: async () => {
      await proxy.close();
      await scenario.stop();
    },
  };
}

/** A name that no other test has. */
export const unique = (word: string): string => `${word}-${crypto.randomUUID().slice(0, 8)}`;
