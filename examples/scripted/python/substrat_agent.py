"""A program as an agent of Substrat: the helper library for Python. One file, standard library only.

    import substrat_agent

    seen = []

    def turn(t):
        seen.append(t.prompt)
        t.call("send_message", recipient="USER", text=f"{len(seen)} so far")
        return "noted"

    substrat_agent.run(turn)

The handler is called once for each turn. What it keeps in ordinary variables is there in the next turn, also when the
process was ended in between or killed: a new process is given the turns so far and runs the handler for each of them
again, and calls are answered from the record and not done again. For that the handler must do the same when it is given the
same: use t.now() and t.random() instead of the clock and the random module, and t.once() for everything else that
comes from outside, such as the output of another program.

Standard output belongs to the protocol. This library keeps it for itself: what the program prints goes to standard
error, and is kept there.
"""

import json
import os
import random
import sys

PROTOCOL = 1


class CallError(Exception):
    """A call was refused. code says why, for programs; hint says what to do."""

    def __init__(self, code, message, hint=""):
        super().__init__(message + (f" ({hint})" if hint else ""))
        self.code, self.message, self.hint = code, message, hint


class Cancelled(BaseException):
    """The turn is being stopped. Let it pass: it ends the turn."""


class ProgramChanged(BaseException):
    """The program did something else than the record says it did. It cannot go on from there."""


class Message:
    """One message of a turn's prompt."""

    def __init__(self, data):
        self.id = data.get("id", "")
        self.sender = data.get("from", "")
        self.kind = data.get("kind", "")
        self.text = data.get("text", "")
        self.reply_to = data.get("reply_to", "")


class Turn:
    """One turn: what is asked, and the tools to do it with."""

    def __init__(self, agent, data, live):
        self._agent = agent
        self._live = live
        self._record = list(data.get("calls") or [])
        self._made = 0
        self._checkpoint = None
        self._random = random.Random(data["id"])
        self.id = data["id"]
        self.number = data.get("number", 0)
        self.prompt = data.get("prompt", "")
        self.retry = data.get("retry", "")
        self.messages = [Message(m) for m in data.get("messages") or []]

    @property
    def agent(self):
        """Who this is: id, name, path, parent, role, instructions, metadata."""
        return self._agent.about

    @property
    def replaying(self):
        """Whether what happens now has happened before. For logs only: nothing else may depend on it."""
        return not self._live or self._made < len(self._record)

    def call(self, tool, **args):
        """Calls a tool of the team, the same as over MCP, and gives its answer. Raises CallError when it is refused."""
        return self._do(tool, args, None)

    def once(self, name, f):
        """Runs f() and gives its value, which must be JSON; when this turn is run again, it gives the same without f. Where f
        raises an exception, CallError is raised, then and each time."""
        got = self._do("record", {"name": name}, f)
        if "failed" in got:
            raise CallError("failed", got["failed"])
        return got["value"]

    def now(self):
        """The time as seconds since 1970, the same when this turn is run again."""
        return self._do("now", {}, None)["unix_ms"] / 1000

    def random(self):
        """A random.Random, the same when this turn is run again."""
        return self._random

    def text(self, text):
        """Adds to the text of the turn, which answers whoever asked."""
        if self._live:
            self._agent._send({"type": "text", "turn": self.id, "text": text})

    def log(self, message):
        """Adds a line to the turn's transcript."""
        if self._live and not self.replaying:
            self._agent._send({"type": "log", "turn": self.id, "message": str(message)})

    def checkpoint(self, state):
        """Keeps state, which must be JSON, in place of everything up to the end of this turn, if the turn is done. A new process
        is given it with restore, and not the turns before."""
        self._checkpoint = json.loads(json.dumps(state))

    def _do(self, tool, args, f):
        args = json.loads(json.dumps(args))
        number = self._made + 1
        if self._made < len(self._record):
            old = self._record[self._made]
            self._made = number
            was, told = old.get("tool"), old.get("args") or {}
            if was != tool or told != args or str(old.get("id")) != str(number):
                raise ProgramChanged(
                    f"the program changed: call {number} of turn {self.number} was {was} {json.dumps(told)}, is {tool} {json.dumps(args)}"
                )
            return self._answer(old)
        if not self._live:
            raise ProgramChanged(
                f"the program changed: turn {self.number} made {len(self._record)} calls, and makes another: {tool} {json.dumps(args)}"
            )
        self._made = number
        line = {"type": "call", "turn": self.id, "id": str(number), "tool": tool, "args": args}
        if f is not None:
            try:
                line["value"] = {"value": f()}
            except Exception as e:
                line["value"] = {"failed": f"{type(e).__name__}: {e}"}
        self._agent._send(line)
        return self._answer(self._agent._await(str(number)))

    def _answer(self, line):
        error = line.get("error")
        if error is None:
            return line.get("result")
        if error.get("code") == "cancelled":
            raise Cancelled(error.get("message", ""))
        raise CallError(error.get("code", ""), error.get("message", ""), error.get("hint", ""))


class _Agent:
    def __init__(self, lines, out):
        self.about = {}
        self._lines, self._out = lines, out

    def _send(self, line):
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._out, data) :]

    def _read(self):
        """The next line from the host. A line that is broken is what a host that died left of it; it is said again."""
        while True:
            data = self._lines.readline()
            if not data:
                sys.exit(0)
            try:
                line = json.loads(data)
            except ValueError:
                continue
            if isinstance(line, dict):
                return line

    def _await(self, id):
        """Waits for the answer to a call. Answers that came twice, and the turn told again, are passed over."""
        while True:
            line = self._read()
            if line.get("type") == "result" and line.get("id") == id:
                return line


def run(handler, restore=None):
    """Serves turns until the host closes standard input. handler(turn) gives the closing text of the turn, or None; an
    exception gives the turn up. restore(state) is called first if there was a checkpoint."""
    lines = os.fdopen(os.dup(0), "rb")
    out = os.dup(1)
    os.set_inheritable(out, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    agent = _Agent(lines, out)
    done, changed = set(), None
    while True:
        line = agent._read()
        kind = line.get("type")
        if kind == "hello":
            if line.get("protocol") != PROTOCOL:
                changed = f"the host speaks protocol {line.get('protocol')}, this library {PROTOCOL}"
            agent.about = line.get("agent") or {}
            if "state" in line and restore is not None:
                restore(line["state"])
        elif kind == "history" and changed is None:
            try:
                _repeat(handler, Turn(agent, line, False), "done" in line)
            except ProgramChanged as e:
                changed = str(e)
            done.add(line["id"])
        elif kind == "turn" and line["id"] not in done:
            done.add(line["id"])
            if changed is not None:
                agent._send({"type": "fail", "turn": line["id"], "message": changed, "void": True})
                sys.exit(1)
            _serve(agent, handler, Turn(agent, line, True))


def _repeat(handler, turn, completed):
    """Runs the handler for a turn of the past."""
    try:
        handler(turn)
    except Cancelled:
        pass
    except Exception as e:
        if completed:
            raise ProgramChanged(f"the program changed: turn {turn.number} was done, and now fails: {e!r}") from e
    else:
        if not completed:
            raise ProgramChanged(f"the program changed: turn {turn.number} failed, and now is done")
    if turn._made < len(turn._record):
        raise ProgramChanged(
            f"the program changed: turn {turn.number} made {len(turn._record)} calls, and now ends after {turn._made}"
        )


def _serve(agent, handler, turn):
    """Runs the handler for the turn that is open."""
    try:
        text = handler(turn)
        if turn._made < len(turn._record):
            raise ProgramChanged(
                f"the program changed: turn {turn.number} had made {len(turn._record)} calls, and now ends after {turn._made}"
            )
        line = {"type": "done", "turn": turn.id, "text": "" if text is None else str(text)}
        if turn._checkpoint is not None:
            line["state"] = turn._checkpoint
    except Cancelled as e:
        line = {"type": "fail", "turn": turn.id, "message": f"cancelled: {e}"}
    except ProgramChanged as e:
        agent._send({"type": "fail", "turn": turn.id, "message": str(e), "void": True})
        sys.exit(1)
    except Exception as e:
        import traceback

        traceback.print_exc()
        line = {"type": "fail", "turn": turn.id, "message": f"{type(e).__name__}: {e}"}
    agent._send(line)
