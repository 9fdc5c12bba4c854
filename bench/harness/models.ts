import { startChild, type Child } from './child.ts';

/** The scripted model server in a process of its own. */
export interface Models extends Child {
  /** For LONGHAUL_MODEL_BASE_URL. */
  readonly baseUrl: string;
}

export async function startModels(): Promise<Models> {
  const child = await startChild({ entry: 'test/fakes/model-server.ts', args: ['--port', '0'] });
  return { ...child, baseUrl: String(child.ready['base_url']) };
}
