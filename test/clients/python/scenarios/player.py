"""Plays the scenarios of a file, as the test asks for them on the standard input."""

import asyncio
import importlib
import inspect
import json
import pathlib
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
module = importlib.import_module(sys.argv[1])
output = sys.stdout
# What a scenario prints must not look like an answer.
sys.stdout = sys.stderr

for line in sys.stdin:
    asked = json.loads(line)
    try:
        scenario = getattr(module, asked["scenario"])
        result = scenario(**asked["args"])
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        answer = {"result": result}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    output.write(json.dumps(answer) + "\n")
    output.flush()
