// `@jest/globals` as helpers see it: they are loaded once and serve many test files, so each name leads to what belongs to the file that
// runs now.
export let current = {};

export function setTestGlobals(globals) {
  current = globals;
}

const nowOf = (name) =>
  new Proxy(function () {}, {
    apply: (_target, _self, given) => current[name](...given),
    get: (_target, property) => current[name][property],
  });

export const afterAll = nowOf('afterAll');
export const afterEach = nowOf('afterEach');
export const beforeAll = nowOf('beforeAll');
export const beforeEach = nowOf('beforeEach');
export const describe = nowOf('describe');
export const expect = nowOf('expect');
export const it = nowOf('it');
export const jest = nowOf('jest');
export const test = nowOf('test');
