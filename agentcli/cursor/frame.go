package cursor

// frame is the envelope of one object of the stream. Values are parts of the line.
type frame struct {
	raw                                  []byte
	typ, subtype                         string
	text, message, toolCall, callID      value
	session, model, modelCall, timestamp value
	queryType, query, response           value
	attempt, isResume                    value
	isError, resultText, errorText       value
	usage, duration                      value
}

// read checks the object at the start of line, notes its members and tells how long it is, -1 if there is none.
func (f *frame) read(line []byte) int {
	*f = frame{}
	if len(line) == 0 || line[0] != '{' {
		return -1
	}
	i := skipSpace(line, 1)
	if i < len(line) && line[i] == '}' {
		f.raw = line[:i+1]
		return i + 1
	}
	for {
		if i >= len(line) || line[i] != '"' {
			return -1
		}
		nameEnd := checkString(line, i+1)
		if nameEnd < 0 {
			return -1
		}
		name := value(line[i+1 : nameEnd-1])
		if i = skipSpace(line, nameEnd); i >= len(line) || line[i] != ':' {
			return -1
		}
		start := skipSpace(line, i+1)
		if i = checkValue(line, start, 1); i < 0 {
			return -1
		}
		f.note(name, line[start:i])
		if i = skipSpace(line, i); i >= len(line) {
			return -1
		}
		if line[i] == '}' {
			f.raw = line[:i+1]
			return i + 1
		}
		if line[i] != ',' {
			return -1
		}
		i = skipSpace(line, i+1)
	}
}

// note keeps a top-level member if it is one that is looked at. The names are compared as they are written.
func (f *frame) note(name, v value) {
	switch string(name) {
	case "type":
		f.typ = word(v)
	case "subtype":
		f.subtype = word(v)
	case "text":
		f.text = v
	case "message":
		f.message = v
	case "tool_call":
		f.toolCall = v
	case "call_id":
		f.callID = v
	case "session_id":
		f.session = v
	case "model":
		f.model = v
	case "model_call_id":
		f.modelCall = v
	case "timestamp_ms":
		f.timestamp = v
	default:
		f.noteRare(name, v)
	}
}

// noteRare keeps the members that few frames have.
func (f *frame) noteRare(name, v value) {
	switch string(name) {
	case "query_type":
		f.queryType = v
	case "query":
		f.query = v
	case "response":
		f.response = v
	case "attempt":
		f.attempt = v
	case "is_resume":
		f.isResume = v
	case "is_error":
		f.isError = v
	case "result":
		f.resultText = v
	case "error":
		f.errorText = v
	case "usage":
		f.usage = v
	case "duration_ms":
		f.duration = v
	}
}

// word reads the name of a type or subtype, without an allocation for those that occur all the time.
func word(v value) string {
	switch string(v) {
	case `"assistant"`:
		return "assistant"
	case `"thinking"`:
		return "thinking"
	case `"delta"`:
		return "delta"
	case `"completed"`:
		return "completed"
	case `"tool_call"`:
		return "tool_call"
	case `"started"`:
		return "started"
	}
	return str(v)
}
