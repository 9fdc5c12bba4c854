import { expect, test } from '@jest/globals';
import { areaDependency } from '../../../api/http/operation/area-dependency.ts';

test('what an area works with is made when it is first asked for, and once for each process', () => {
  const made: string[] = [];
  const readerOf = areaDependency(({ name }: { readonly name: string }) => {
    made.push(name);
    return { of: name };
  });
  const [one, other] = [{ name: 'one' }, { name: 'other' }];
  expect(made).toEqual([]);

  const found = [readerOf(one), readerOf(other), readerOf(one)];

  expect(found.map(({ of }) => of)).toEqual(['one', 'other', 'one']);
  expect(found[2]).toBe(found[0]);
  expect(made).toEqual(['one', 'other']);
});
