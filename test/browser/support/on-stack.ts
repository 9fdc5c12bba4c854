import { afterAll, beforeAll, jest } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { startEffectServer, type EffectServer } from '../../support/scenario.ts';
import { startOwnStack, type Stack } from '../../support/stack.ts';
import type { TestUser } from '../../support/tenant.ts';
import { openStage, openTab, prepareConsole, signIn, type Stage, type Watched } from './stage.ts';

/** A deployment with its console, a scripted model and a server that tools write to, and a browser before it: for all tests of a `describe`. */
export interface ConsoleStack {
  readonly stack: Stack;
  readonly stage: Stage;
  readonly models: ModelServer;
  readonly effects: EffectServer;
  /** Address of the workspace's views. */
  readonly home: string;
  /** A browser whose user is signed in, at one of the views. */
  signedIn(path: string, options?: SignInOptions): Promise<Watched & { readonly context: BrowserContext }>;
}

interface SignInOptions {
  /** The admin of the workspace unless given. */
  readonly user?: Pick<TestUser, 'email'>;
  readonly width?: number;
  readonly dark?: boolean;
  /** A browser that is open already, in place of a new one. */
  readonly context?: BrowserContext;
}

interface ConsoleStackOptions {
  readonly processes?: NonNullable<Parameters<typeof startOwnStack>[0]>['processes'];
}

/** Starts it before the tests and stops it after them. Call what it returns inside of tests only. */
export function consoleStack({ processes = ['api', 'worker-runs'] }: ConsoleStackOptions = {}): () => ConsoleStack {
  // A look at every view takes minutes on a busy machine.
  jest.setTimeout(900_000);
  let started: ConsoleStack | undefined;
  beforeAll(async () => {
    const dir = prepareConsole();
    const models = await startModelServer();
    const effects = await startEffectServer();
    const stack = await startOwnStack({
      processes,
      modelBaseUrl: models.baseUrl,
      egressPorts: [effects.port],
      env: {
        CONSOLE_DIR: dir,
        UNPRICED_MODEL: 'zero_with_alert',
        RATE_LIMITS: 'principal=100000/60,workspace=100000/60,anonymous=off,login_pair=1000/60,login_ip=1000/60',
      },
    });
    const stage = await openStage();
    const home = `${stack.url()}/console/w/${stack.tenant.workspaceId}`;
    started = {
      stack,
      stage,
      models,
      effects,
      home,
      async signedIn(path, { user = stack.tenant.users.admin, context: given, ...options } = {}) {
        const context = given ?? (await stage.context(options));
        const tab = await openTab(context, home + path);
        await signIn(tab.page, user);
        await tab.page.locator('#content h1').waitFor();
        return { ...tab, context };
      },
    };
  });
  afterAll(async () => {
    await started?.stage.close();
    await started?.stack.stop();
    started?.effects.close();
    await started?.models.close();
  });
  return () => {
    if (started === undefined) throw new Error('the stack has not started');
    return started;
  };
}
