// Prints deployment.json of a state folder as NAME=value lines, the environment of a deployment's processes:
//   node docs/deployment-env.mjs .longhaul > longhaul.env
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '.longhaul'] = process.argv.slice(2);
// Of the machine that made the file, not of the deployment.
const ofMachine = new Set(['PATH', 'HOME', 'TZ']);
const variables = JSON.parse(readFileSync(join(folder, 'deployment.json'), 'utf8'));
for (const [name, value] of Object.entries(variables)) if (!ofMachine.has(name)) console.log(`${name}=${value}`);
