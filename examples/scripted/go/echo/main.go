// Echo is an agent that remembers what it was told and says it back:
//
//	go build -o echo ./examples/scripted/go/echo
//	substrat agent create echo --provider scripted --command ./echo
//	substrat send echo hello --wait
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"substrat.dev/substrat/examples/scripted/go/substratagent"
)

func main() {
	var seen []string
	err := substratagent.Run(substratagent.Program{
		Turn: func(t *substratagent.Turn) (string, error) {
			for _, m := range t.Messages {
				seen = append(seen, m.Text)
			}
			if err := t.Call("list_children", struct{}{}, nil); err != nil {
				return "", err
			}
			if len(seen)%100 == 0 {
				if err := t.Checkpoint(seen); err != nil {
					return "", err
				}
			}
			return fmt.Sprintf("%d so far: %s", len(seen), seen[len(seen)-1]), nil
		},
		Restore: func(state json.RawMessage) error { return json.Unmarshal(state, &seen) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}
