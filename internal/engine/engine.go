// Package engine carries out what a team decided: it makes facts durable, folds them, and closes the difference between
// the state and what is running. It joins provider, sandbox and turn, which do not know each other.
//
// One loop owns every team's state. It takes the commands that wait, decides each against the state as it will be,
// makes all their events durable in one transaction, and only then answers. There is no other writer.
//
// The engine never decides what may happen (that is team's), never parses what an agent prints (agentcli's), and never
// signals a process itself (turn's).
package engine
