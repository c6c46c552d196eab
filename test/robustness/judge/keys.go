package judge

import (
	"crypto/tls"
	"encoding/json"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

const privateKey = "PRIVATE KEY-----"

// keepsKeys is I7.
func keepsKeys(c *cluster, e history.Event, report reporter) {
	if e.Message != nil && c.is(e.Message.Client, history.Manager) && strings.Contains(e.Message.Text, privateKey) {
		report(e.Message.About, "a private key is reported")
	}
	w := e.Write
	if w == nil || w.After == nil || !c.is(w.Client, history.Manager) {
		return
	}
	if w.Object.Kind != "Secret" {
		if text, err := json.Marshal(w.After); err == nil && strings.Contains(string(text), privateKey) {
			report(w.Object, "it contains a private key")
		}
		return
	}
	data := dataOf(w.After)
	for name, value := range data {
		if strings.Contains(value, privateKey) && isOfCA(value, data) {
			report(w.Object, "%s is the private key of a CA", name)
		}
	}
}

// isOfCA reports whether a key in PEM belongs to a certificate of a CA among some data.
func isOfCA(key string, data map[string]string) bool {
	for _, value := range data {
		for _, c := range certificatesIn([]byte(value)) {
			pair, err := tls.X509KeyPair(pemOf(c), []byte(key))
			if err == nil && len(pair.Certificate) > 0 && c.IsCA {
				return true
			}
		}
	}
	return false
}

// changesOnlyItsOwn is I9, for the kinds that the manager creates. An object is its own if the manager created it, or if a
// ClusterServiceVersion owns it, each by uid.
func changesOnlyItsOwn(c *cluster, e history.Event, report reporter) {
	w := e.Write
	if w == nil || w.Before == nil || !c.is(w.Client, history.Manager) || !slices.Contains(ofManager, w.Object.Kind) || c.created[w.Object.UID] {
		return
	}
	var before struct {
		Metadata struct {
			OwnerReferences []struct {
				UID string `json:"uid"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	into(w.Before, &before)
	for _, owner := range before.Metadata.OwnerReferences {
		if c.owners[owner.UID] {
			return
		}
	}
	report(w.Object, "the manager did %s it, and neither created it nor is its owner a ClusterServiceVersion that existed", w.Verb)
}

// ofManager are the kinds of objects that belong to one operator.
var ofManager = []string{
	"Deployment", "Service", "Secret", "ServiceAccount", "Role", "RoleBinding", "PodDisruptionBudget",
	"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService",
}
