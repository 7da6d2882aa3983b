package turnjson_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat/agentcli/turnjson"
)

const sample = `{"defaultModel":"cursor-auto","gateway":{},"models":{
"cursor-auto":{"provider":"cursor-agent-cli","command":"agent","args":["-p","--output-format","stream-json","--stream-partial-output"],"promptAsArg":true,"timeoutMs":600000,"authProfiles":["default","work"],"fallbackModels":["fallback-default","own","off","local"],"enabled":true},
"own":{"maxContextTokens":1},"off":{"enabled":false},"local":{"provider":"ollama","anything":1}}}`

func TestParseConfig(t *testing.T) {
	c, err := turnjson.ParseConfig([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Models["cursor-auto"]
	if !m.Options.PromptAsArg || m.Options.Command != "agent" || len(m.Options.Args) != 4 || m.Silence != 10*time.Minute {
		t.Errorf("%+v", m)
	}
	if own := c.Models["own"]; own.Options.Command != "cursor-agent" || fmt.Sprint(own.Options.Args) != "[auto --stream-json]" || own.Options.PromptAsArg {
		t.Errorf("defaults %+v", own)
	}
	plan, err := c.Plan("")
	if got := fmt.Sprint(plan); err != nil || got != "[cursor-auto:default cursor-auto:work own:default]" {
		t.Errorf("plan %s, %v", got, err)
	}
	if len(c.Warnings) != 3 {
		t.Errorf("warnings %q", c.Warnings)
	}
	if _, err := c.Plan("off"); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("disabled: %v", err)
	}
	for text, want := range map[string]string{
		`[]`:                                     "cannot read",
		`{}`:                                     `"models"`,
		`{"models":{},"moddels":1}`:              `"moddels"`,
		`{"models":{"a":{"comand":"x"}}}`:        `models.a has no member "comand"`,
		`{"models":{"a":{"args":"x"}}}`:          "models.a",
		`{"models":{"a":1}}`:                     "models.a is no object",
		`{"models":{"a":{"timeoutMs":0}}}`:       "timeoutMs",
		`{"models":{"a":{"authProfiles":[]}}}`:   "authProfiles",
		`{"models":{"a":{}},"defaultModel":"b"}`: `"b"`,
		`{"models":{"a":{}},"defaultModel":1}`:   "defaultModel",
	} {
		if _, err := turnjson.ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := turnjson.ParseConfig(data)
		if err == nil {
			for id := range c.Models {
				_, _ = c.Plan(id)
			}
		}
	})
}
