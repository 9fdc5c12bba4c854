import type { CorpusPull } from './corpus.ts';
import { plant } from './plant.ts';

/** Faults in C++, Rust, Go and Python. */
export const plantedInOthers: readonly Omit<CorpusPull, 'id'>[] = [
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
];
