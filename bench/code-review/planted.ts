import type { CorpusPull, Edit, Fault } from './corpus.ts';

function plant(source: string, title: string, edits: readonly Edit[], fault: Fault): Omit<CorpusPull, 'id'> {
  return { source, title, edits, fault };
}

/** Forty pull requests with a fault each, of nine categories' kinds, in TypeScript, JavaScript, C++, Rust, Go and Python. */
export const plantedPulls: readonly CorpusPull[] = [
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
    'Debounce.cc',
    'Do not hold the lock while callbacks are removed',
    [['void Debounce::remove(void *key) {\n  std::unique_lock<std::mutex> lock(mMutex);\n', 'void Debounce::remove(void *key) {\n']],
    {
      quote: 'std::unique_lock<std::mutex> lock(mMutex);',
      side: 'LEFT',
      category: 'concurrency',
      severity: 'high',
      what: 'A callback is erased while the loop iterates the map in another thread.',
    },
  ),
  plant('Debounce.cc', 'Let the thread end by itself', [['    mThread.join();\n', '    mThread.detach();\n']], {
    quote: 'mThread.detach();',
    category: 'concurrency',
    severity: 'high',
    what: 'The thread still uses members of the object that its destructor has freed.',
  }),
  plant(
    'DirTree.cc',
    'Match prefixes without the separator',
    [['std::string pathStart = path + DIR_SEP;', 'std::string pathStart = path;']],
    {
      quote: 'std::string pathStart = path;',
      category: 'data_loss',
      severity: 'high',
      what: 'Removing /a/b removes the entries of /a/bc as well.',
    },
  ),
  plant('DirTree.cc', 'Advance once', [['        it = entries.erase(it);', '        entries.erase(it);']], {
    quote: 'entries.erase(it);',
    category: 'bug',
    severity: 'critical',
    what: 'The iterator is used after its element was erased, which is undefined behaviour.',
  }),
  plant(
    'BruteForceBackend.cc',
    'Write snapshots without a check',
    [
      [
        '  if (!f) {\n    throw std::runtime_error(std::string("Unable to open snapshot file: ") + strerror(errno));\n  }\n\n  tree->write(f);',
        '  tree->write(f);',
      ],
    ],
    {
      quote: 'if (!f) {',
      side: 'LEFT',
      category: 'bug',
      severity: 'high',
      what: 'Where the snapshot can not be opened, a null file is written to: the process crashes.',
    },
  ),
  plant('BruteForceBackend.cc', 'Leave the tree as it was read', [['    tree->isComplete = true;\n', '']], {
    quote: 'tree->isComplete = true;',
    side: 'LEFT',
    category: 'performance',
    severity: 'medium',
    what: 'A tree is never complete: every request reads the whole directory again.',
  }),
  plant('prometheus_server.rs', 'Listen as configured', [['        self.listener.set_nonblocking(true)?;\n', '']], {
    quote: 'self.listener.set_nonblocking(true)?;',
    side: 'LEFT',
    category: 'bug',
    severity: 'high',
    what: 'A blocking listener is given to the runtime, whose thread stands still in accept.',
  }),
  plant(
    'prometheus_server.rs',
    'Serve one connection at a time',
    [
      ['            tokio::task::spawn(async move {\n', '            (async move {\n'],
      [
        '                {\n                    warn!("Error serving metrics connection: {:?}", e);\n                }\n            });',
        '                {\n                    warn!("Error serving metrics connection: {:?}", e);\n                }\n            })\n            .await;',
      ],
    ],
    {
      quote: '(async move {',
      category: 'concurrency',
      severity: 'medium',
      what: 'A client that keeps its connection open keeps every other scrape from being served.',
    },
  ),
  plant(
    'json_string.rs',
    'Trust the string',
    [
      [
        '            Err(e) => Err(BridgeError::TypeError {\n                field: None,\n                message: e.to_string(),\n            }),',
        '            Err(e) => panic!("{e}"),',
      ],
    ],
    {
      quote: 'Err(e) => panic!("{e}"),',
      category: 'bug',
      severity: 'high',
      what: 'A malformed string of a caller ends the process where it was an error of the call.',
    },
  ),
  plant(
    'json_string.rs',
    'Keep the value alone',
    [
      [
        '        Ok(Self { json, value })\n    }\n}\n\nimpl<T: DeserializeOwned>',
        '        Ok(Self { json: String::new(), value })\n    }\n}\n\nimpl<T: DeserializeOwned>',
      ],
    ],
    {
      quote: 'Ok(Self { json: String::new(), value })',
      category: 'data_loss',
      severity: 'high',
      what: 'The text is what is handed to JavaScript: it gets an empty string in place of the value.',
    },
  ),
  plant(
    'properties.rs',
    'Let undefined through',
    [['        if value.is_a::<JsUndefined, _>(cx) {', '        if value.is_a::<JsNull, _>(cx) {']],
    {
      quote: 'if value.is_a::<JsNull, _>(cx) {',
      category: 'api_break',
      severity: 'medium',
      what: 'A property that is absent is not reported as missing any more, and one that is null on purpose is.',
    },
  ),
  plant('main.go', 'Compare the heads of paths too', [['\tif len(a) != len(b) {\n\t\treturn false\n\t}\n', '']], {
    quote: 'if len(a) != len(b) {',
    side: 'LEFT',
    category: 'bug',
    severity: 'high',
    what: 'A longer path is read beyond the end of the shorter one: the program panics.',
  }),
  plant(
    'main.go',
    'Report and go on',
    [
      [
        '\t\tfmt.Fprintf(os.Stderr, "error parsing JSON: %v\\n", err)\n\t\tos.Exit(2)\n',
        '\t\tfmt.Fprintf(os.Stderr, "error parsing JSON: %v\\n", err)\n',
      ],
    ],
    {
      quote: 'os.Exit(2)',
      side: 'LEFT',
      category: 'bug',
      severity: 'high',
      what: 'A document that can not be parsed is checked as an empty one, and passes.',
    },
  ),
  plant('main.go', 'Skip sorting', [['\tsort.Slice(parsed, func(i, j int) bool { return parsed[i].raw < parsed[j].raw })\n', '']], {
    quote: 'sort.Slice(parsed,',
    side: 'LEFT',
    category: 'bug',
    severity: 'low',
    what: 'Maps are iterated in random order: the report is another each time.',
  }),
  plant('config.py', 'Share the defaults', [['config = DEFAULT_CONFIG.copy()', 'config = DEFAULT_CONFIG']], {
    quote: 'config = DEFAULT_CONFIG',
    category: 'bug',
    severity: 'high',
    what: 'The overrides of one server are written into the defaults of all later ones.',
  }),
  plant(
    'config.py',
    'Let runtime values be overridden',
    [
      ['    # Apply user overrides\n    config.update(config_overrides)\n\n', ''],
      [
        '        config["unixsocketperm"] = str(unix_socket_perm)\n',
        '        config["unixsocketperm"] = str(unix_socket_perm)\n    config.update(config_overrides)\n',
      ],
    ],
    {
      quote: 'config.update(config_overrides)',
      category: 'security',
      severity: 'high',
      what: 'An override may move the directory and the permissions of the socket, which the caller was to set alone.',
    },
  ),
  plant(
    'config.py',
    'Bind for containers',
    [
      ['"bind": "127.0.0.1",', '"bind": "*",'],
      ['"protected-mode": "yes",', '"protected-mode": "no",'],
    ],
    {
      quote: '"protected-mode": "no",',
      category: 'security',
      severity: 'critical',
      what: 'The server listens to everybody, without a password.',
    },
  ),
  plant(
    'port_finder.py',
    'Close late',
    [
      [
        '    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:\n        try:\n            sock.bind((host, port))\n            return True\n        except OSError:\n            return False',
        '    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)\n    try:\n        sock.bind((host, port))\n        return True\n    except OSError:\n        return False',
      ],
    ],
    {
      quote: 'sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)',
      category: 'bug',
      severity: 'medium',
      what: 'The socket is not closed: the port stays taken, and descriptors leak.',
    },
  ),
  plant('port_finder.py', 'Check one address', [['for address in dict.fromkeys((host, "0.0.0.0")):', 'for address in (host):']], {
    quote: 'for address in (host):',
    category: 'bug',
    severity: 'high',
    what: 'Without a comma this is no tuple: the letters of the host are tried as addresses.',
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
].map((pull, at) => ({ id: `planted-${String(at + 1).padStart(2, '0')}`, ...pull }));
