import type { CorpusPull } from './corpus.ts';
import { plant } from './plant.ts';

/** Faults in TypeScript and JavaScript. */
export const plantedInScripts: readonly Omit<CorpusPull, 'id'>[] = [
  plant('debounceTime.ts', 'Compare with the target the natural way round', [['if (now < targetTime) {', 'if (now > targetTime) {']], {
    quote: 'if (now > targetTime) {',
    category: 'bug',
    severity: 'high',
    what: 'The comparison is reversed: values are emitted before the source has been silent, and late timers are scheduled again for ever.',
  }),
  plant(
    'debounceTime.ts',
    'Emit without clearing',
    [['        lastValue = null;\n        subscriber.next(value);', '        subscriber.next(value);']],
    {
      quote: 'lastValue = null;',
      side: 'LEFT',
      category: 'performance',
      severity: 'low',
      what: 'The last value is held after it was emitted: memory is kept until the next value.',
    },
  ),
  plant('bufferCount.ts', 'Count from one', [['if (count++ % startBufferEvery! === 0) {', 'if (++count % startBufferEvery! === 0) {']], {
    quote: 'if (++count % startBufferEvery! === 0) {',
    category: 'data_loss',
    severity: 'high',
    what: 'No buffer is open for the first values: they are dropped until the count is a multiple.',
  }),
  plant(
    'bufferCount.ts',
    'Emit full buffers at once',
    [
      [
        '              toEmit = toEmit ?? [];\n              toEmit.push(buffer);',
        '              arrRemove(buffers, buffer);\n              subscriber.next(buffer);',
      ],
    ],
    {
      quote: 'arrRemove(buffers, buffer);',
      category: 'bug',
      severity: 'medium',
      what: 'The list is changed while it is iterated: the buffer after a full one is skipped and misses the value.',
    },
  ),
  plant('skipLast.ts', 'Keep one value more', [['if (valueIndex < skipCount) {', 'if (valueIndex <= skipCount) {']], {
    quote: 'if (valueIndex <= skipCount) {',
    category: 'bug',
    severity: 'high',
    what: 'One value too many is written behind the end of the ring and never emitted.',
  }),
  plant(
    'skipLast.ts',
    'Emit before storing',
    [
      [
        '              const oldValue = ring[index];\n              ring[index] = value;',
        '              ring[index] = value;\n              const oldValue = ring[index];',
      ],
    ],
    {
      quote: 'const oldValue = ring[index];',
      category: 'data_loss',
      severity: 'high',
      what: 'The old value is overwritten before it is read: the newest value is emitted in its place.',
    },
  ),
  plant('scanInternals.ts', 'Read the state late', [['let hasState = hasSeed;', 'let hasState = seed !== undefined;']], {
    quote: 'let hasState = seed !== undefined;',
    category: 'bug',
    severity: 'medium',
    what: 'A seed that is undefined on purpose counts as none: the first value is not accumulated.',
  }),
  plant('scanInternals.ts', 'Number values from one', [['const i = index++;', 'const i = ++index;']], {
    quote: 'const i = ++index;',
    category: 'api_break',
    severity: 'medium',
    what: 'The accumulator gets indexes from 1 where its callers rely on 0.',
  }),
  plant(
    'distinct.ts',
    'Take the selector for objects only',
    [['const key = keySelector ? keySelector(value) : value;', 'const key = keySelector ? String(keySelector(value)) : value;']],
    {
      quote: 'const key = keySelector ? String(keySelector(value)) : value;',
      category: 'bug',
      severity: 'high',
      what: 'Keys that are objects are all "[object Object]": distinct values are dropped as repeats.',
    },
  ),
  plant(
    'distinct.ts',
    'Remember keys in a list',
    [
      ['const distinctKeys = new Set();', 'const distinctKeys: unknown[] = [];'],
      ['if (!distinctKeys.has(key)) {', 'if (!distinctKeys.includes(key)) {'],
      ['distinctKeys.add(key);', 'distinctKeys.push(key);'],
      ['() => distinctKeys.clear()', '() => distinctKeys.splice(0)'],
    ],
    {
      quote: 'if (!distinctKeys.includes(key)) {',
      category: 'performance',
      severity: 'medium',
      what: 'Each value searches all earlier keys: the time grows with the square of their number.',
    },
  ),
  plant(
    'priority-queue.js',
    'Insert without compacting',
    [['        this.#compact();\n        const index = lowerBound', '        const index = lowerBound']],
    {
      quote: 'this.#compact();',
      side: 'LEFT',
      category: 'bug',
      severity: 'high',
      what: 'The binary search runs over consumed items as well: an item may be inserted before the head, and is never run.',
    },
  ),
  plant('priority-queue.js', 'Find items by id anywhere', [['index >= this.#head && element.id === id', 'element.id === id']], {
    quote: 'element.id === id',
    category: 'bug',
    severity: 'high',
    what: 'An item that was dequeued already is found again, put back and run twice.',
  }),
  plant(
    'priority-queue.js',
    'Compact on every dequeue',
    [['this.#head > compactionThreshold && this.#head > this.#queue.length / 2', 'this.#head > 0']],
    {
      quote: 'this.#head > 0',
      category: 'performance',
      severity: 'medium',
      what: 'Every dequeue moves the whole array: draining the queue takes quadratic time.',
    },
  ),
  plant(
    'lower-bound.js',
    'Insert before equals',
    [['if (comparator(array[it], value) <= 0) {', 'if (comparator(array[it], value) < 0) {']],
    {
      quote: 'if (comparator(array[it], value) < 0) {',
      category: 'bug',
      severity: 'medium',
      what: 'Of equal priorities the newest is inserted first: the order of arrival is lost.',
    },
  ),
  plant('lower-bound.js', 'Simplify the step', [['count -= step + 1;', 'count -= step;']], {
    quote: 'count -= step;',
    category: 'bug',
    severity: 'critical',
    what: 'With one element left the step is 0 and the count never falls: the loop does not end.',
  }),
  plant(
    'charset.js',
    'Accept what has no quality',
    [['q: parsed.parameters.q ? parseFloat(parsed.parameters.q) : 1,', 'q: parseFloat(parsed.parameters.q) || 1,']],
    {
      quote: 'q: parseFloat(parsed.parameters.q) || 1,',
      category: 'bug',
      severity: 'high',
      what: 'A quality of 0, which refuses a charset, becomes 1.',
    },
  ),
  plant('charset.js', 'Compare as sent', [['spec.charset.toLowerCase() === charset.toLowerCase()', 'spec.charset === charset']], {
    quote: 'spec.charset === charset',
    category: 'api_break',
    severity: 'medium',
    what: 'Names of charsets compare without case (RFC 9110): UTF-8 is refused where utf-8 is offered.',
  }),
  plant(
    'secure-json-parse.js',
    'Delete quietly',
    [
      [
        "        } else if (protoAction === 'error') {\n          throw new SyntaxError('Object contains forbidden prototype property')\n        }\n\n        delete node.__proto__",
        '        }\n\n        node.__proto__ = undefined',
      ],
    ],
    {
      quote: 'node.__proto__ = undefined',
      category: 'security',
      severity: 'critical',
      what: 'A forbidden property is not refused, and not removed either: it stays an own property of what is merged later.',
    },
  ),
  plant('secure-json-parse.js', 'Look at the first level', [['          next.push(value)\n', '']], {
    quote: 'next.push(value)',
    side: 'LEFT',
    category: 'security',
    severity: 'high',
    what: 'Nested objects are not searched: a forbidden key one level down passes.',
  }),
  plant('wrap-thenable.js', 'Answer although hijacked', [['    if (reply[kReplyHijacked] === true) {\n      return\n    }\n', '']], {
    quote: 'if (reply[kReplyHijacked] === true) {',
    side: 'LEFT',
    category: 'bug',
    severity: 'high',
    what: 'A reply that the handler has taken over is sent a second time.',
  }),
  plant('proxy-addr.js', 'Count from the other end', [['var addr = addrs[addrs.length - 1]', 'var addr = addrs[0]']], {
    quote: 'var addr = addrs[0]',
    category: 'security',
    severity: 'high',
    what: 'The address of the nearest proxy is taken for the client’s, whoever that was.',
  }),
];
