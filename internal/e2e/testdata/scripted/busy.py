"""A program whose turns each have several effects, named after the message they are for."""

import substrat_agent

seen = []


def turn(t):
    for m in t.messages:
        seen.append(m.text)
        for i in range(3):
            t.call("send_message", recipient="USER", text=f"{m.text}/{i}")
            t.call("list_children")
    if len(seen) > 20:
        t.checkpoint(seen)
    return ",".join(seen)


def restore(state):
    seen[:] = state


substrat_agent.run(turn, restore)
