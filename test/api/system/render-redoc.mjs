// Renders an OpenAPI document from stdin with the installed redoc, without a browser and without network; prints the markup.
import { createRequire } from 'node:module';

const here = createRequire(import.meta.url);
const inRedoc = createRequire(here.resolve('redoc'));
const { createElement } = inRedoc('react');
const { renderToString } = inRedoc('react-dom/server');
const { Redoc, createStore } = here('redoc');

let text = '';
for await (const part of process.stdin) text += part;
globalThis.fetch = () => {
  throw new Error('the page may load nothing');
};
const store = await createStore(JSON.parse(text), undefined, {});
process.stdout.write(renderToString(createElement(Redoc, { store })));
