package gemini

import (
	"os"
	"testing"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headlesstest"
)

func TestRecordings(t *testing.T) {
	headlesstest.Golden(t, New(Options{}), agentcli.Request{MCP: []agentcli.MCPServer{{Name: "notes"}}})
}

func TestNoise(t *testing.T) {
	turn, err := os.ReadFile("testdata/turn.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Noise(t, New(Options{}), turn)
}

func FuzzDecoder(f *testing.F) { headlesstest.Fuzz(f, New(Options{})) }
