package certs

import (
	"bytes"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

func TestASecretOfOLMGetsTheKeyThatPodsMount(t *testing.T) {
	secret := issuedByOLM(t, 730*day)
	completed := Completed(secret)
	if completed == nil || !bytes.Equal(completed.Data[vocabulary.KeyCA], secret.Data[vocabulary.KeyOLMCA]) {
		t.Fatalf("ca.crt is not the CA of olmCAKey")
	}
	if len(secret.Data[vocabulary.KeyCA]) > 0 {
		t.Error("the Secret that was given was changed")
	}
	if Completed(completed) != nil {
		t.Error("a complete Secret is to be written again")
	}
	if d := Decide(Facts{Secret: completed, Names: names}, DefaultPolicy(), start.Add(time.Hour)); d.Mint != nil {
		t.Errorf("the completed Secret is not taken as it is: %s", d.Problem)
	}
}
