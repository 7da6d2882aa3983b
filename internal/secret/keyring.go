package secret

import (
	"context"
	"errors"
	"time"

	keeper "github.com/zalando/go-keyring"

	"substrat.dev/substrat"
)

// keyringTime bounds how long the keyring may take: a locked one asks its user.
const keyringTime = 20 * time.Second

// answer is what a keyring said.
type answer struct {
	text string
	err  error
}

// asking bounds the questions to a keyring that does not answer: each is a goroutine that cannot be called back.
var asking = make(chan struct{}, 4)

// fromKeyring asks the keyring of the system.
func fromKeyring(ctx context.Context, service, user string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyringTime)
	defer cancel()
	select {
	case asking <- struct{}{}:
	case <-ctx.Done():
		return "", locked(service, user)
	}
	said := make(chan answer, 1)
	go func() {
		defer func() { <-asking }()
		text, err := keeper.Get(service, user)
		said <- answer{text, err}
	}()
	select {
	case a := <-said:
		return judge(service, user, a)
	case <-ctx.Done():
		return "", locked(service, user)
	}
}

func judge(service, user string, a answer) (string, error) {
	switch {
	case a.err == nil && a.text != "":
		return a.text, nil
	case a.err == nil || errors.Is(a.err, keeper.ErrNotFound):
		return "", substrat.Errorf(substrat.CodeNotFound, "the keyring has no entry %s/%s", service, user).
			WithHint("store it as the user who runs the daemon: secret-tool store --label=%s service %s username %s", service, service, user)
	default:
		return "", substrat.Errorf(substrat.CodeUnavailable, "the keyring of this machine cannot be asked: %v", a.err).
			WithHint("it needs a secret service (GNOME Keyring, KWallet) on the session bus of the daemon; without one use file:/path with chmod 600")
	}
}

func locked(service, user string) error {
	return substrat.Errorf(substrat.CodeUnavailable, "the keyring does not answer for %s/%s: it may be locked", service, user).
		WithHint("unlock it, or use file:/path with chmod 600")
}
