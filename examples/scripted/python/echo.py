#!/usr/bin/env python3
"""An agent that remembers what it was told and says it back.

    substrat agent create echo --provider scripted --command examples/scripted/python/echo.py
    substrat send echo hello --wait
"""

import substrat_agent

seen = []


def turn(t):
    for m in t.messages:
        seen.append(m.text)
    if len(seen) % 100 == 0:
        t.checkpoint(seen[-100:])
    return f"{len(seen)} so far, the last from {t.messages[-1].sender}: {seen[-1]}"


def restore(state):
    seen[:] = state


substrat_agent.run(turn, restore)
