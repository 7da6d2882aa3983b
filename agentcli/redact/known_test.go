package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"substrat.dev/substrat/agentcli/redact"
)

const canary = `cnry-7f/Q+"9\zé01=end`

// dressed gives the canary in every encoding that a program may print it in.
func dressed() map[string]string {
	quoted, _ := json.Marshal(canary)
	twice, _ := json.Marshal(string(quoted))
	out := map[string]string{
		"plain": canary, "json": string(quoted), "json in json": string(twice), "query": url.QueryEscape(canary), "path": url.PathEscape(canary),
		"hex": hex.EncodeToString([]byte(canary)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"php": strings.ReplaceAll(string(quoted), "/", `\/`),
	}
	for n := range 4 {
		for m := range 4 {
			text := strings.Repeat("u", n) + canary + strings.Repeat("v", m)
			out[fmt.Sprintf("base64 %d %d", n, m)] = base64.StdEncoding.EncodeToString([]byte(text))
			out[fmt.Sprintf("base64url %d %d", n, m)] = base64.RawURLEncoding.EncodeToString([]byte(text))
		}
	}
	return out
}

// leak reports what a text still tells of the canary: the longest stretch of the dressed form that is in it.
func leak(text, form string) string {
	const most = 8
	for i := 0; i+most <= len(form); i++ {
		if strings.Contains(text, form[i:i+most]) {
			return form[i : i+most]
		}
	}
	return ""
}

// once gives what comes of a stream that is not cut.
func once(k *redact.Known, text string) string {
	s := k.Stream()
	out := append([]byte(nil), s.Push([]byte(text))...)
	return string(append(out, s.End()...))
}

// TestStreamCuts cuts a stream with a canary at every byte, twice: what comes out is always the same, and without it.
func TestStreamCuts(t *testing.T) {
	k := redact.NewKnown(canary, "other-value-1", "cnry-7f")
	for name, form := range dressed() {
		line := `{"a":"x ` + form + ` y"}` + "\n"
		text := line + "{}\n" + line
		want := once(k, text)
		if found := leak(want, form); found != "" {
			t.Fatalf("%s: %q is left of it in %q", name, found, want)
		}
		if !strings.HasSuffix(want, "\"}\n") || strings.Count(want, "\n") != 3 {
			t.Fatalf("%s: the lines are not whole: %q", name, want)
		}
		for i := 0; i <= len(text); i++ {
			step := max(1, len(text)/40)
			for j := i; j <= len(text); j += step {
				s := k.Stream()
				var got []byte
				for _, piece := range []string{text[:i], text[i:j], text[j:]} {
					got = append(got, s.Push([]byte(piece))...)
				}
				got = append(got, s.End()...)
				if string(got) != want {
					t.Fatalf("%s: cut at %d and %d gives %q, not %q", name, i, j, got, want)
				}
			}
		}
	}
}

// TestStreamWaitsForNothing holds nothing back behind the end of a line, and nothing that cannot be a value.
func TestStreamWaitsForNothing(t *testing.T) {
	s := redact.NewKnown("hunter-two-22").Stream()
	for _, line := range []string{"{\"a\":1}\n", "no end of line", " hunter is no value", "\nhunter\n"} {
		if got := string(s.Push([]byte(line))); got != line {
			t.Errorf("of %q came %q at once", line, got)
		}
	}
	if got := string(s.Push([]byte("x hunter-two-"))); got != "x " {
		t.Errorf("the front of a value came through: %q", got)
	}
	if got := string(s.End()); got != redact.Mark {
		t.Errorf("most of a value at the end came through: %q", got)
	}
}

// TestKnownSaysNothing prints what knows a value in every way.
func TestKnownSaysNothing(t *testing.T) {
	k := redact.NewKnown("hunter-two-22")
	if out := fmt.Sprintf("%v %+v %#v %s", k, k, k, k); strings.Contains(out, "hunter") {
		t.Errorf("it prints %q", out)
	}
}

// TestNumbersStayNumbers keeps a line valid where a value is all digits.
func TestNumbersStayNumbers(t *testing.T) {
	got := redact.NewKnown("48151623").Text(`{"id":48151623,"pin":"48151623"}`)
	if !json.Valid([]byte(got)) || strings.Contains(got, "48151623") {
		t.Errorf("it is %s", got)
	}
}

func TestStreamProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`[ab\n]{6,9}`)
		values := rapid.SliceOfN(letters, 1, 4).Draw(t, "values")
		text := rapid.StringMatching(`[ab\n]{0,60}`).Draw(t, "text")
		k := redact.NewKnown(values...)
		want := once(k, text)
		s, rest := k.Stream(), []byte(text)
		var got []byte
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got = append(got, s.Push(rest[:n:n])...)
			rest = rest[n:]
		}
		got = append(got, s.End()...)
		if string(got) != want {
			t.Fatalf("%q in pieces gives %q, whole %q", text, got, want)
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); len(v) >= 6 && strings.Contains(want, v) {
				t.Fatalf("%q is left in %q", v, want)
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("ab cnry-7f123 cd"), "cnry-7f123", 5)
	f.Fuzz(func(t *testing.T, data []byte, value string, cut int) {
		if len(data) == 0 || len(value) > 200 {
			return
		}
		k := redact.NewKnown(value)
		if k == nil {
			return
		}
		n := (cut%len(data) + len(data)) % len(data)
		s := k.Stream()
		got := append([]byte(nil), s.Push(bytes.Clone(data[:n]))...)
		got = append(got, s.Push(bytes.Clone(data[n:]))...)
		got = append(got, s.End()...)
		if want := once(k, string(data)); string(got) != want {
			t.Fatalf("cut at %d: %q, not %q", n, got, want)
		}
	})
}

// BenchmarkStream compares a stream that is looked through with one that is copied.
func BenchmarkStream(b *testing.B) {
	line := []byte(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Looking at the files of the project now."}]},"session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff"}` + "\n")
	data := bytes.Repeat(line, 256<<10/len(line))
	var keys []string
	for i := range 8 {
		keys = append(keys, fmt.Sprintf("sk-ant-%d-%s", i, strings.Repeat(hex.EncodeToString([]byte{byte(i), 0xa7}), 10)))
	}
	for name, k := range map[string]*redact.Known{"copy": nil, "1key": redact.NewKnown(keys[0]), "8keys": redact.NewKnown(keys...)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			s, to := k.Stream(), make([]byte, len(data))
			for b.Loop() {
				copy(to, s.Push(data))
			}
		})
	}
}
