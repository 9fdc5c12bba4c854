// `node cli/slim.mjs` removes from node_modules what this machine never loads: native modules of Temporal and onnxruntime for other machines, and the
// packaged Node if the one that runs this is new enough. For images and lean installs; `npm ci` restores everything. Needs only the packages.
import { readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isEnough, removeForeignRuntimes } from './prepare.mjs';

const nodeModules = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules');
/** Asks the package itself which of its modules this machine loads. */
const { getPrebuiltTargetName } = createRequire(import.meta.url)('@temporalio/core-bridge/common');

const releases = join(nodeModules, '@temporalio', 'core-bridge', 'releases');
for (const target of readdirSync(releases)) if (target !== getPrebuiltTargetName()) remove(releases, target);

removeForeignRuntimes(nodeModules);

const isPackagedNode = process.execPath.startsWith(nodeModules + sep);
if (!isPackagedNode && isEnough(process.versions.node)) {
  for (const name of readdirSync(nodeModules)) if (/^node-(linux|darwin)-/.test(name)) remove(nodeModules, name);
  remove(nodeModules, '.bin', 'node');
}

function remove(...parts) {
  rmSync(join(...parts), { recursive: true, force: true });
}
