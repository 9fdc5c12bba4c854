/** JavaScript that awaits at its top, and the value of its last expression: alike in the interpreter and in strict isolation. */
export const awaitingCode: readonly (readonly [code: string, value: unknown])[] = [
  ['const x = await Promise.resolve(input.a);\nx * 21', 42],
  ['await input.a', 2],
  ['await (async () => 5)()', 5],
  ['let s = 0;\nfor await (const n of [1, Promise.resolve(2)]) s += n;\ns', 3],
  ['const { a, b: [c] } = await Promise.resolve({ a: 1, b: [2] });\na + c', 3],
  ['({ a: await 1n })', { a: '1' }],
  ['(await 1, 2) // two', 2],
  ['await Promise.all([1, 2].map(async (n) => await n))', [1, 2]],
  ['await 1;\nPromise.resolve(4)', 4],
  ['const r = twice(await 2);\nfunction twice(n) { return 2 * n }\nr\n;', 4],
  ['if (await Promise.resolve(false)) { 7 } else { 8 }', 8],
  ['try { await Promise.reject(3) } catch (thrown) { thrown }', 3],
  ['`a${await 3}b`', 'a3b'],
  ['const x = await 1;\nreturn x + 1', 2],
  ['"await"; 6', 6],
];

/** Code with a fault in a line of its own. */
export const faultyCode: readonly (readonly [code: string, message: RegExp])[] = [
  ['const a = await 1;\n\nlet b = ;', /^SyntaxError: .*\(line 3\)$/],
  ['let a = 1;\nlet b = ;\nawait 2', /^SyntaxError: .*\(line 2\)$/],
  ['const a = 1;\nreturn a +\n;', /^SyntaxError: .*\(line 3\)$/],
  ['\nawait twice(', /^SyntaxError: .*\(line 2\)$/],
  ['await 1 }); (async () => {', /^SyntaxError: .*\(line 1\)$/],
  ['const a = await 1;\n\nthrow new TypeError("bad")', /^TypeError: bad \(line 3\)$/],
  ['const a = 1;\nnull.x\nreturn a', /^TypeError: .*\(line 2\)$/],
  ['await new Promise(() => {})', /never settles/],
];
