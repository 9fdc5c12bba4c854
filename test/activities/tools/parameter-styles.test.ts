import { expect, test } from '@jest/globals';
import { cookiePairs, headerText, pathText, queryPairs, Unsendable } from '../../../activities/tools/http/parameter-styles.ts';
import type { HttpParameter, ParameterLocation, ParameterStyle } from '../../../workflows/contracts/tools/http-parameters.ts';

const shapes = {
  text: 'blue',
  list: ['blue', 'black', 'br&wn'],
  object: { R: 100, G: 200, B: 'a b' },
  deep: { R: { x: 1, y: [true, 'k'] }, G: null },
} as const;
type Shape = keyof typeof shapes;

const joined = (pairs: readonly (readonly [string, string])[], mark: string) => pairs.map(([name, value]) => `${name}=${value}`).join(mark);

/** What stands in the request; null where the value has no form. */
function sent(place: ParameterLocation, style: ParameterStyle, explode: boolean, value: unknown): string | null {
  const parameter: HttpParameter = { argument: 'color', in: place, name: 'color', style, explode };
  try {
    if (place === 'path') return pathText(parameter, value);
    if (place === 'header') return headerText(parameter, value);
    return place === 'cookie' ? joined(cookiePairs(parameter, value), '; ') : joined(queryPairs(parameter, value), '&');
  } catch (error) {
    if (error instanceof Unsendable) return null;
    throw error;
  }
}

type Row = [place: ParameterLocation, style: ParameterStyle, explode: boolean, texts: Readonly<Record<Shape, string | null>>];

// OpenAPI 3.1 §4.8.12.4 with the corrections of 3.1.1, by RFC 6570.
const table: Row[] = [
  ['path', 'simple', false, { text: 'blue', list: 'blue,black,br%26wn', object: 'R,100,G,200,B,a%20b', deep: null }],
  ['path', 'simple', true, { text: 'blue', list: 'blue,black,br%26wn', object: 'R=100,G=200,B=a%20b', deep: null }],
  ['path', 'label', false, { text: '.blue', list: '.blue,black,br%26wn', object: '.R,100,G,200,B,a%20b', deep: null }],
  ['path', 'label', true, { text: '.blue', list: '.blue.black.br%26wn', object: '.R=100.G=200.B=a%20b', deep: null }],
  ['path', 'matrix', false, { text: ';color=blue', list: ';color=blue,black,br%26wn', object: ';color=R,100,G,200,B,a%20b', deep: null }],
  [
    'path',
    'matrix',
    true,
    { text: ';color=blue', list: ';color=blue;color=black;color=br%26wn', object: ';R=100;G=200;B=a%20b', deep: null },
  ],
  ['query', 'form', false, { text: 'color=blue', list: 'color=blue,black,br%26wn', object: 'color=R,100,G,200,B,a%20b', deep: null }],
  ['query', 'form', true, { text: 'color=blue', list: 'color=blue&color=black&color=br%26wn', object: 'R=100&G=200&B=a%20b', deep: null }],
  [
    'query',
    'spaceDelimited',
    false,
    { text: 'color=blue', list: 'color=blue%20black%20br%26wn', object: 'color=R%20100%20G%20200%20B%20a%20b', deep: null },
  ],
  [
    'query',
    'spaceDelimited',
    true,
    { text: 'color=blue', list: 'color=blue&color=black&color=br%26wn', object: 'R=100&G=200&B=a%20b', deep: null },
  ],
  [
    'query',
    'pipeDelimited',
    false,
    { text: 'color=blue', list: 'color=blue%7Cblack%7Cbr%26wn', object: 'color=R%7C100%7CG%7C200%7CB%7Ca%20b', deep: null },
  ],
  [
    'query',
    'pipeDelimited',
    true,
    { text: 'color=blue', list: 'color=blue&color=black&color=br%26wn', object: 'R=100&G=200&B=a%20b', deep: null },
  ],
  ...[false, true].map((explode): Row => [
    'query',
    'deepObject',
    explode,
    {
      text: 'color=blue',
      list: 'color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=br%26wn',
      object: 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=a%20b',
      deep: 'color%5BR%5D%5Bx%5D=1&color%5BR%5D%5By%5D%5B0%5D=true&color%5BR%5D%5By%5D%5B1%5D=k',
    },
  ]),
  ['header', 'simple', false, { text: 'blue', list: 'blue,black,br&wn', object: 'R,100,G,200,B,a b', deep: null }],
  ['header', 'simple', true, { text: 'blue', list: 'blue,black,br&wn', object: 'R=100,G=200,B=a b', deep: null }],
  ['cookie', 'form', false, { text: 'color=blue', list: 'color=blue,black,br%26wn', object: 'color=R,100,G,200,B,a%20b', deep: null }],
  [
    'cookie',
    'form',
    true,
    { text: 'color=blue', list: 'color=blue; color=black; color=br%26wn', object: 'R=100; G=200; B=a%20b', deep: null },
  ],
];

const cases = table.flatMap(([place, style, explode, texts]) =>
  (Object.keys(texts) as Shape[]).map((shape) => [place, style, explode, shape, texts[shape]] as const),
);

test.each(cases)('%s %s, explode %s: a %s is %s', (place, style, explode, shape, expected) => {
  expect(sent(place, style, explode, shapes[shape])).toBe(expected);
});

test('no style says [object Object], whatever the value', () => {
  const values = [[{}], [[1]], { a: {} }, { a: [1] }, [{ a: [{}] }], [], {}, '', null, undefined, [null], { a: null }, 0, false];
  const texts = table.flatMap(([place, style, explode]) => values.map((value) => sent(place, style, explode, value)));

  expect(texts.filter((text) => text?.includes('object Object'))).toEqual([]);
  expect(texts).toContain('color=0');
});

test('what has no text is not sent, and has no place in a path', () => {
  const nothing = [null, undefined, [], {}, [null], { a: null }];

  expect(nothing.map((value) => sent('query', 'form', true, value))).toEqual(nothing.map(() => ''));
  expect(nothing.map((value) => sent('query', 'deepObject', true, value))).toEqual(nothing.map(() => ''));
  expect([...nothing, ''].map((value) => sent('path', 'simple', false, value))).toEqual([...nothing, ''].map(() => null));
});

test('allowReserved leaves what can not be taken for the query; a parameter of a media type is one text of it', () => {
  const parameter: HttpParameter = { argument: 'q', in: 'query', name: 'q' };

  expect(queryPairs({ ...parameter, allowReserved: true }, '/a?b=c&d#e+f')).toEqual([['q', '/a?b=c%26d%23e%2Bf']]);
  expect(queryPairs({ ...parameter, contentType: 'application/json' }, { a: [1] })).toEqual([['q', '%7B%22a%22%3A%5B1%5D%7D']]);
  expect(() => queryPairs({ ...parameter, contentType: 'text/csv' }, { a: 1 })).toThrow(Unsendable);
});

test('a list in a header has no member with a comma: it would be read as two', () => {
  expect(sent('header', 'simple', false, ['a,b'])).toBeNull();
});
