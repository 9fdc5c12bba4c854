"""
Runs an agent whose tools are partly this program's own, and partly need a person's consent.

    LONGHAUL_URL=… LONGHAUL_KEY=… python approvals_and_tools.py <run id>|<agent slug> "When does the garden shop open?"

Started again with the id of its run, it goes on where it was. Its ledger keeps a tool from doing its work twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import sys
import uuid
from typing import Any

from longhaul import AsyncLonghaul, ToolCall
from longhaul.types import ApprovalView

LEDGER = pathlib.Path(os.environ.get("LEDGER", "ledger.json"))
NOTES = {"garden shop": "They open at nine, on Sundays at ten."}


def ledger() -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
    return entries


async def find_note(args: dict[str, Any], call: ToolCall) -> str:
    done = ledger()
    if call.call_id not in done:
        query = str(args["query"]).lower()
        done[call.call_id] = next((text for title, text in NOTES.items() if title in query), "There is no such note.")
        LEDGER.write_text(json.dumps(done))
    return str(done[call.call_id])


async def ask(question: ApprovalView) -> dict[str, Any]:
    print(f"{question['prompt']}\n{question['tool_slug']} {json.dumps(question['args'])}")
    # Reading the keyboard must not hold up the stream.
    answer = await asyncio.to_thread(input, "Approve? [y/n] ")
    return {"decision": "approve"} if answer.strip() == "y" else {"decision": "reject", "comment": "The user said no."}


async def main() -> None:
    name = sys.argv[1]
    async with AsyncLonghaul(os.environ["LONGHAUL_URL"], service_key=os.environ["LONGHAUL_KEY"]) as client:
        if len(sys.argv) > 2:
            run = await client.start_run({"agent_slug": name, "input": {"text": sys.argv[2]}}, idempotency_key=str(uuid.uuid4()))
            print(f"run {run.id}")
        else:
            run = client.run(name)
        print(await run.text(tools={"find_note": find_note}, on_approval=ask))


if __name__ == "__main__":
    asyncio.run(main())
