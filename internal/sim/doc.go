// Package sim is a stand-in for Cursor's cursor-agent: the same flags, the same lines on stdout, the same files in the
// configuration directory, and tools that really act, but with a script in the prompt where the real one has a model.
//
// It owns the imitation and nothing else. It never imports another package of Substrat, on purpose: where it computes
// what a provider computes too (approval hashes, store layout, forms of text), the two check each other. It never opens
// a network connection and it knows no account.
//
// The source of every shape is public evidence about cursor-agent 2026.10 and recordings of it, which the tests hold
// the output against.
//
// # Scripts
//
// A prompt may hold any number of <<SCRIPT [ … ] SCRIPT>>, each a JSON list of steps; they run in order. Marks nest: a
// script inside a string of another one is left as it is, for whoever gets that string. Without a script the simulator
// says what it was asked. The steps:
//
//	{"text": TEXT}  {"think": TEXT}
//	{"read": PATH, "offset": N, "limit": N}
//	{"write": PATH, "content": TEXT}
//	{"edit": PATH, "old": TEXT, "new": TEXT}   the old text must stand in the file once
//	{"delete": PATH}
//	{"ls": PATH}  {"glob": PATTERN, "path": DIR}
//	{"grep": REGEXP, "path": PATH, "ignore_case": BOOL}
//	{"shell": COMMAND, "timeout_ms": N, "description": TEXT}
//	{"mcp": TOOL, "server": NAME, "args": {…}, "description": TEXT}
//	{"todo": [TEXT or {"id", "content", "status"}, …], "merge": BOOL}
//	{"ask": TEXT or the wire's form, "options": [TEXT, …], "multiple": BOOL, "title": TEXT}
//	{"plan": TEXT, "name": TEXT, "overview": TEXT, "todos": […]}
//	{"sleep_ms": N}
//	{"fault": KIND, …}
//
// Any step may have "delay_ms", a pause before it, and "chunk_ms", a pause after each piece of its text. Strings may hold
// {{last}}, the text of the last tool result; {{last.FIELD}}, a field of the last MCP result, dots reach deeper;
// {{prompt}}, the prompt without its scripts; {{message_id}}, the id in the prompt's first "(to message ID)" or else its
// first "[message ID]".
//
// # Faults
//
// As the first step a refusal comes before the first line, later it ends the turn where it stands: auth, quota,
// rate_limit, unknown_session, bad_model, locked_store, config_race. These come before the first line with "early":true:
// no_result, exit ("code"), crash, hang. The others: hang_after_result, torn_line, noise, long_line ("bytes"), flood
// ("bytes"), stderr_flood ("bytes"), bad_utf8, network, refused, grandchild ("seconds"), ignore_term, fail_on_stop
// (waits to be stopped, and says as its result that the turn failed).
package sim
