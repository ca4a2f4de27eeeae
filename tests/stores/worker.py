"""A process that makes verbs on sessions: `worker.py URL NAME VERBS FILE`; an id is written once answered."""

from __future__ import annotations

import json
import os
import sys

from callgate.engine.stores import Store, open_store

SESSIONS = 16


def verb(store: Store, key: str, id: str) -> int:
    """Count the verb and remember its id; the answer is the count."""

    def change(before: bytes | None) -> tuple[bytes, int]:
        state = json.loads(before) if before else {"count": 0, "ids": []}
        state["count"] += 1
        state["ids"].append(id)
        return json.dumps(state).encode(), state["count"]

    return store.update(key, change)


def work(store: Store, name: str, verbs: int, file: str) -> None:
    answered = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(verbs):
        id = f"{name}-{number}"
        verb(store, f"session {number % SESSIONS}", id)
        os.write(answered, f"{id}\n".encode())
    os.close(answered)


if __name__ == "__main__":
    url, name, verbs, file = sys.argv[1:]
    work(open_store(url), name, int(verbs), file)
