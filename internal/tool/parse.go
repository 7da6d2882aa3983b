package tool

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
)

// complaintMost bounds how much of a foreign value an error repeats.
const complaintMost = 300

// parse checks arguments against the schema and reads them. Models often write null or "" for what they want to leave
// out; that is taken as left out.
func parse[In any](schema *jsonschema.Resolved, args json.RawMessage) (in In, err error) {
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		args = json.RawMessage("{}")
	}
	var loose any
	if err = json.Unmarshal(args, &loose); err == nil {
		dropped := dropEmpty(schema.Schema(), loose)
		err = schema.Validate(loose)
		if err == nil && dropped {
			args, err = json.Marshal(loose)
		}
	}
	if err == nil {
		err = json.Unmarshal(args, &in)
	}
	if err != nil {
		return in, substrat.Errorf(substrat.CodeInvalid, "the arguments do not fit: %s", complaint(err)).WithHint("the tool's schema says what it takes")
	}
	return in, nil
}

// dropEmpty removes optional properties that are null or an empty string.
func dropEmpty(schema *jsonschema.Schema, loose any) (dropped bool) {
	object, _ := loose.(map[string]any)
	for key, v := range object {
		if schema.Properties[key] != nil && !slices.Contains(schema.Required, key) && (v == nil || v == "") {
			delete(object, key)
			dropped = true
		}
	}
	return dropped
}

// frames are how the validator says where it was; they mean nothing to an agent, but for the property's name.
var frames = regexp.MustCompile(`validating (root|/properties/([A-Za-z_]+))(/[A-Za-z]+)?: `)

// complaint says what is wrong in few words.
func complaint(err error) string {
	text := frames.ReplaceAllStringFunc(err.Error(), func(s string) string {
		if m := frames.FindStringSubmatch(s); m[2] != "" {
			return m[2] + ": "
		}
		return ""
	})
	return clip(text, complaintMost)
}

// clip shortens a text at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// oneOf lets a property take some words only.
func oneOf(s *jsonschema.Schema, property string, words ...string) {
	for _, w := range words {
		s.Properties[property].Enum = append(s.Properties[property].Enum, w)
	}
}
