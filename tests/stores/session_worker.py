"""A process that works on sessions in a store: `python session_worker.py URL NAME SESSIONS ROUNDS ANSWERED`.

Each round is a request, a call told twice, its result told twice, and a thought, in one of the sessions. The
id of each answered call is written to the file ANSWERED before the next one.
"""

from __future__ import annotations

import sys

import callgate
from callgate.engine.stores import open_store

RULES = """
preset long { cap 1000 refill 1 }
preset long
ground { reads read }
"""


def main(url: str, name: str, sessions: str, rounds: str, answered: str) -> None:
    engine = callgate.compile(RULES, tools={"read": None})
    store = open_store(url)
    many = [engine.session(f"s{number}", claim_surface=["a"], store=store) for number in range(int(sessions))]
    with open(answered, "a", encoding="utf-8") as file:
        for number in range(int(rounds)):
            which = number % len(many)
            here, call_id = many[which], f"{name}-{number}"
            here.offer()
            for _ in range(2):
                here.call("read", {"path": "a", "n": call_id}, call_id=call_id)
            for _ in range(2):
                here.result(call_id, f"text {call_id}")
            here.reason()
            file.write(f"s{which} {call_id}\n")
            file.flush()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
