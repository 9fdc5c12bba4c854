"""
A chat in the terminal: each line is a turn of one conversation, and the answer appears as it is written.

    LONGHAUL_URL=http://127.0.0.1:3000 LONGHAUL_KEY=lh_sk_… python chat.py guide

Ctrl-C stops the answer, not the chat. What an agent wants to have approved is asked here, too.
"""

from __future__ import annotations

import os
import sys
import uuid

from longhaul import Longhaul, LonghaulError, Run
from longhaul.types import Frame


def show(frame: Frame) -> None:
    if frame["type"] == "message.delta":
        print(frame["data"]["delta"], end="", flush=True)
    elif frame["type"] == "tool.call" and frame["data"]["phase"] == "executing":
        print(f"\n[{frame['data']['slug']}]", flush=True)
    elif frame["type"] == "run.finished" and frame["data"]["error"]:
        print(f"\n[{frame['data']['error']['message']}]", end="")


def follow(run: Run) -> None:
    try:
        with run.stream() as stream:
            for frame in stream:
                show(frame)
    except KeyboardInterrupt:
        run.cancel(reason="stopped by its reader")
    print()


def main() -> None:
    agent = sys.argv[1]
    session_key = f"terminal-{uuid.uuid4()}"
    with Longhaul(os.environ["LONGHAUL_URL"], service_key=os.environ["LONGHAUL_KEY"]) as client:
        for line in sys.stdin:
            if not line.strip():
                continue
            try:
                follow(client.start_run({"agent_slug": agent, "input": {"text": line.strip()}, "session_key": session_key}))
            except LonghaulError as error:
                print(f"[{error}]")


if __name__ == "__main__":
    main()
