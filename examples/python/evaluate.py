"""
Evaluates an agent in CI: exits with 1 if fewer answers pass than demanded, and with 2 if no judgement was possible.

    LONGHAUL_URL=… LONGHAUL_KEY=… python evaluate.py guide dataset.jsonl 0.9
"""

from __future__ import annotations

import os
import pathlib
import sys
import time

from longhaul import Longhaul
from longhaul.types import EvaluationRunDetailView

ENDED = {"succeeded", "failed", "cancelled"}


def evaluate(client: Longhaul, slug: str, dataset: str) -> EvaluationRunDetailView:
    agent = next(one for one in client.list_agents(q=slug) if one["slug"] == slug)
    started = client.create_evaluation(
        {
            "agent_id": agent["id"],
            "dataset": {"format": "jsonl", "text": dataset},
            "evaluators": [{"key": "names-it", "type": "contains"}],
        }
    )
    while True:
        evaluation = client.get_evaluation(started["id"])
        if evaluation["status"] in ENDED:
            return evaluation
        time.sleep(1)


def main() -> int:
    slug, path, demanded = sys.argv[1:]
    with Longhaul(os.environ["LONGHAUL_URL"], service_key=os.environ["LONGHAUL_KEY"]) as client:
        evaluation = evaluate(client, slug, pathlib.Path(path).read_text())
    for result in evaluation["results"]:
        print(result["status"], result["item_id"], result["reason"] or "")
    rate = evaluation["summary"]["pass_rate"]
    if evaluation["status"] != "succeeded" or rate is None:
        print(f"no judgement: {evaluation['status']}")
        return 2
    print(f"passed: {rate:.0%}")
    return 0 if rate >= float(demanded) else 1


if __name__ == "__main__":
    sys.exit(main())
