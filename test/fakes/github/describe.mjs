// Cuts what the fake host serves out of GitHub's own description of its API, so that no checkout carries the 385 MB of the package:
//   npm pack @octokit/openapi@23.0.2 && tar -xzf octokit-openapi-23.0.2.tgz package/generated/api.github.com.json
//   node test/fakes/github/describe.mjs package/generated/api.github.com.json && npm run format
import { readFileSync, writeFileSync } from 'node:fs';
import { routes } from './routes.mjs';

const whole = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const paths = {};
const components = {};

for (const route of routes) {
  const [method, path] = route.split(' ');
  const { operationId, parameters, requestBody, responses } = whole.paths[path][method.toLowerCase()];
  const answers = Object.fromEntries(Object.entries(responses).filter(([status]) => status.startsWith('2')));
  (paths[path] ??= {})[method.toLowerCase()] = keep({ operationId, parameters, requestBody, responses: answers });
}
const text = {
  openapi: whole.openapi,
  info: { title: 'Part of the GitHub REST API', version: whole.info.version, license: whole.info.license },
  paths,
  components,
};
writeFileSync(new URL('description.json', import.meta.url), JSON.stringify(text));

/** Copies without texts and examples of whole bodies, and brings along what is referred to. */
function keep(node) {
  if (Array.isArray(node)) return node.map(keep);
  if (typeof node !== 'object' || node === null) return node;
  const copy = {};
  for (const [name, value] of Object.entries(node)) {
    if (name === 'examples' || name.startsWith('x-') || (name === 'description' && typeof value === 'string') || name === 'externalDocs')
      continue;
    copy[name] = keep(value);
  }
  if (typeof node.$ref === 'string') bring(node.$ref);
  return copy;
}

function bring(ref) {
  const [, , kind, name] = ref.split('/');
  components[kind] ??= {};
  if (components[kind][name] !== undefined) return;
  components[kind][name] = true; // it may refer to itself
  components[kind][name] = keep(whole.components[kind][name]);
}
