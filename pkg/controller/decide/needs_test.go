package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// The clock is set back after a key was minted, so that its certificate is not valid yet. The
// decision ends with an error, and the retry mints another one.
func TestMintedKeyIsNotValid(t *testing.T) {
	request := certs.Request{Number: 1, Names: certs.DNSNames("manager-service", "shop"), NotBefore: now.Add(time.Hour), NotAfter: now.Add(2 * time.Hour)}
	generation, err := certs.Mint(request)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "manager-service-cert"
	results := Results{Learned: []Result{SecretRead{Name: secret}, Minted{secret, generation}}, Answers: NewAnswers()}
	if _, err := Decide(operatorFacts(), results, now); err == nil || !strings.Contains(err.Error(), secret) {
		t.Errorf("the decision ends with %v", err)
	}
}
