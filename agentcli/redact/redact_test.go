package redact_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"substrat.dev/substrat/agentcli/redact"
)

// secret is a canary that no form of redaction may let through.
const (
	hex64  = "a3f5c7d9e1b2a4c6d8f0a3f5c7d9e1b2a4c6d8f0a3f5c7d9e1b2a4c6d8f0aa11"
	github = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pem    = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\nq8h1kQvM2bM1Jv+A==\n-----END RSA PRIVATE KEY-----"
)

// canaries are texts, the secret in each, and how it looks afterwards.
var canaries = []struct{ name, text, secret, want string }{
	{"env", "CURSOR_API_KEY=key_" + hex64 + " agent -p", hex64, "CURSOR_API_KEY=[redacted] agent -p"},
	{"json key", `{"type":"x","password":"pa ss\"w","n":1}`, `pa ss`, `{"type":"x","password":"[redacted]","n":1}`},
	{"json api_key", `{"api_key": "abcd", "b": 2}`, "abcd", `{"api_key": "[redacted]", "b": 2}`},
	{"json apiKey", `{"apiKey":"hunter22"}`, "hunter22", `{"apiKey":"[redacted]"}`},
	{"json in json", `{"text":"{\"clientSecret\":\"s3cr3tvalue\",\"a\":1}"}`, "s3cr3tvalue", `{"text":"{\"clientSecret\":\"[redacted]\",\"a\":1}"}`},
	{"bearer", "Authorization: Bearer abc123def456ghi", "abc123def456ghi", "Authorization: Bearer [redacted]"},
	{"bearer in prose", "it sent bearer a1b2c3d4e5f6 there", "a1b2c3d4e5f6", "it sent bearer [redacted] there"},
	{"basic", `curl -H "Authorization: Basic dXNlcjpwYXNz" x`, "dXNlcjpwYXNz", `curl -H "Authorization: Basic [redacted]" x`},
	{"github", "remote " + github + ", gone", github, "remote [redacted], gone"},
	{"github pat", "github_pat_11ABCDEFG0abcdefghijkl_xyz", "11ABCDEFG0", "[redacted]"},
	{"aws", "id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE", "id [redacted]."},
	{"aws session", "ASIAIOSFODNN7EXAMPLE", "IOSFODNN7", "[redacted]"},
	{"aws secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI", "aws_secret_access_key = [redacted]"},
	{"jwt", "t " + jwt + " u", jwt, "t [redacted] u"},
	{"pem", "before\n" + pem + "\nafter", "MIIEpAIBAAKCAQEA7bq", "before\n[redacted]\nafter"},
	{"pem in json", `{"k":"` + strings.ReplaceAll(pem, "\n", `\n`) + `"}`, "MIIEpAIBAAKCAQEA7bq", `{"k":"[redacted]"}`},
	{"openai", "with sk-proj-abcDEF123456ghiJKL789.", "abcDEF123456", "with [redacted]."},
	{"cursor", "key_" + hex64, hex64, "[redacted]"},
	{"escaped newline", `{"text":"a\nAKIAIOSFODNN7EXAMPLE\nb"}`, "AKIAIOSFODNN7EXAMPLE", `{"text":"a\n[redacted]\nb"}`},
	{"yaml", "db:\n  password: correcthorse\n  port: 1\n", "correcthorse", "db:\n  password: [redacted]\n  port: 1\n"},
	{"prose", "the password: hunter22, they said", "hunter22", "the password: [redacted], they said"},
	{"address", "postgres://app:s3cr3tpw@db.local:5432/x", "s3cr3tpw", "postgres://app:[redacted]@db.local:5432/x"},
	{"query", "GET /a?token=abcdef123&b=1", "abcdef123", "GET /a?token=[redacted]&b=1"},
	{"option", "agent --api-key abc123XYZ -p hi", "abc123XYZ", "agent --api-key [redacted] -p hi"},
	{"argv", `["agent","--api-key","abc123XYZ","-p"]`, "abc123XYZ", `["agent","--api-key","[redacted]","-p"]`},
	{"two", "token=aaaa1111 secret=bbbb2222", "bbbb2222", "token=[redacted] secret=[redacted]"},
	{"known", "it says opensesame-42 twice: opensesame-42", "opensesame-42", "it says [redacted] twice: [redacted]"},
	{"known with quote", `in JSON: "say \"friend\" now"`, `\"friend`, `in JSON: "say [redacted] now"`},
	{"known lines", "a first line\nsecond line b", "second line", "a [redacted] b"},
}

func redactor() *redact.Redactor {
	return redact.New("opensesame-42", `"friend"`, "first line\nsecond line", "short")
}

func TestCanaries(t *testing.T) {
	for _, c := range canaries {
		t.Run(c.name, func(t *testing.T) {
			if got := redactor().String(c.text); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestCanariesCutAnywhere writes each canary, with text around it, in two pieces cut at every byte, and byte by byte.
func TestCanariesCutAnywhere(t *testing.T) {
	for _, c := range canaries {
		for _, around := range [][2]string{{"", ""}, {"clean line\n", "\nclean line\n"}} {
			text, want := around[0]+c.text+around[1], around[0]+c.want+around[1]
			for cut := -1; cut <= len(text); cut++ {
				var out bytes.Buffer
				w := redactor().Writer(&out)
				if cut < 0 {
					for i := range len(text) {
						w.Write([]byte{text[i]})
					}
				} else {
					w.Write([]byte(text[:cut]))
					w.Write([]byte(text[cut:]))
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if out.String() != want {
					t.Fatalf("%s cut at %d:\ngot  %q\nwant %q", c.name, cut, out.String(), want)
				}
			}
		}
	}
}

// TestLongLines puts canaries into lines that are longer than what is held back, at places where they are cut.
func TestLongLines(t *testing.T) {
	for _, c := range canaries {
		for _, before := range []int{0, 100, 60 << 10, 61440 - 20, 64<<10 - 3, 64 << 10, 70 << 10, 130 << 10} {
			text := strings.Repeat("clean words ", before/12) + " " + c.text + " " + strings.Repeat("and more ", 9000)
			var out bytes.Buffer
			w := redactor().Writer(&out)
			for rest := []byte(text); len(rest) > 0; {
				n := min(len(rest), 997)
				w.Write(rest[:n])
				rest = rest[n:]
			}
			w.Close()
			if strings.Contains(out.String(), c.secret) {
				t.Fatalf("%s after %d bytes: the secret is there", c.name, before)
			}
			if !strings.HasSuffix(out.String(), "and more ") || len(out.String()) < len(text)-len(c.text)-20 {
				t.Fatalf("%s after %d bytes: %d of %d bytes are left", c.name, before, out.Len(), len(text))
			}
		}
	}
}

// TestSecretsLongerThanTheBuffer never ends a secret early.
func TestSecretsLongerThanTheBuffer(t *testing.T) {
	body := strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo5\n", 9000)
	for name, text := range map[string]string{
		"pem":   "a\n-----BEGIN PRIVATE KEY-----\n" + body + "-----END PRIVATE KEY-----\nz\n",
		"token": "a token=" + strings.ReplaceAll(body, "\n", "") + " z\n",
	} {
		var out bytes.Buffer
		w := redact.New().Writer(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), 4093)
			w.Write(rest[:n])
			rest = rest[n:]
		}
		w.Close()
		if strings.Contains(out.String(), "QUJD") || !strings.HasSuffix(out.String(), "z\n") || !strings.Contains(out.String(), redact.Mark) {
			t.Errorf("%s: got %.200q", name, out.String())
		}
	}
}

func TestCleanTextIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"The key to this is: patience. A token of thanks: none needed.",
		"token: required. Passwords must have eight characters; the secret: work.",
		`{"key":"value","name":"token","tokens":120,"promptTokens":123456,"max_token":4096,"token_type":"bearer"}`,
		`"token":"` + redact.Mark + `"`,
		"/usr/lib/password/token/secret=/run/secrets/db_password",
		"key: 550e8400-e29b-41d4-a716-446655440000",
		"key=3f786850e387550fdab836ed7e6dc881de23001b commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"password = getPassword(ctx); token := lexer.Next(); secret == nil",
		"export API_KEY=$OPENAI_KEY PASSWORD=${PW}",
		"see https://example.com/a:b@c and http://localhost:8080/x?key=name",
		"task-force disk-usage sk-learn-something-very-long-indeed eyJ key_value_store_of_things",
		"Bearer authentication is described in RFC 6750; bearer of bad news",
		"use --token to authenticate, or --api-key with a value",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"password: ****** token: <your token>",
		"monkey: banana1234, turkey=gobble1234",
	} {
		if got := redactor().String(text); got != text {
			t.Errorf("changed\n     %q\ninto %q", text, got)
		}
	}
}

func TestCleanTextCostsNoAllocation(t *testing.T) {
	text := strings.Repeat("a line of a log about nothing: 12 files changed, path=/x/y\n", 100)
	if n := testing.AllocsPerRun(10, func() { redact.String(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestStreamsAreAsWholes: whatever the text and the cuts are, the stream is what the whole would be, for texts of short lines.
func TestStreamsAreAsWholes(t *testing.T) {
	pieces := []string{"\n", " ", "=", ":", `"`, `\"`, "token", "password", "api_key", "abc123def", "Bearer ", github, jwt, pem, pem[:40], "-----END RSA PRIVATE KEY-----", "opensesame-42", "opensesame", "first line", "second line", "é", "--", "AKIA", "https://a:b@c"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), "")
		var out bytes.Buffer
		w := redactor().Writer(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			w.Write(rest[:n])
			rest = rest[n:]
		}
		w.Close()
		if want := redactor().String(text); out.String() != want {
			t.Fatalf("text %q\ngot  %q\nwant %q", text, out.String(), want)
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, c := range canaries {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole := redactor().String(text)
		var out bytes.Buffer
		w := redactor().Writer(&out)
		w.Write([]byte(text))
		w.Close()
		if len(text) < 60<<10 && out.String() != whole {
			t.Fatalf("stream %q, whole %q", out.String(), whole)
		}
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriterReportsErrors(t *testing.T) {
	w := redact.New().Writer(broken{})
	if _, err := w.Write([]byte("a\n")); err == nil {
		t.Error("no error")
	}
	if _, err := w.Write([]byte("b\n")); err == nil {
		t.Error("no error at the second write")
	}
}

func BenchmarkClean(b *testing.B) {
	text := strings.Repeat(`{"type":"assistant","message":{"content":[{"type":"text","text":"some words of an answer"}]}}`+"\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redact.String(text)
	}
}
