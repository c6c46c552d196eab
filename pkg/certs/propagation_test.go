package certs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The Secret records how the promotion was proved, and the status reports that until the next rotation.
func TestPropagationIsRecorded(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	both := trusting(second, first)
	secret := secretWith(t, first).next(second, after(day)).trusted(after(day), both).Secret
	for name, test := range map[string]struct {
		found Propagation
		want  managerv1alpha1.CertificatePropagation
	}{
		"each": {
			Propagation{Method: managerv1alpha1.PropagationEachAPIServer, APIServers: 3},
			managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationEachAPIServer, APIServers: 3},
		},
		"through a load balancer": {
			Propagation{Method: managerv1alpha1.PropagationRepeatedRequests, APIServers: 3, NotReached: []string{"192.0.2.1:6443"}},
			managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationRepeatedRequests, APIServers: 3, NotReached: []string{"192.0.2.1:6443"}},
		},
		"not": {
			Propagation{Method: managerv1alpha1.PropagationEachAPIServer, APIServers: 2, Unknown: "why"},
			managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationSettleTime, APIServers: 2, Reason: "why"},
		},
	} {
		f := Facts{Secret: secret, Registrations: []Registration{both}, Names: names, Live: true, Running: true, Propagation: &test.found}
		d := Decide(f, DefaultPolicy(), after(day+time.Minute))
		installtest.Same(t, name, &test.want, d.Propagation)
		f.Secret, f.Propagation = d.Write, nil
		installtest.Same(t, name+", in the next decision", &test.want, Decide(f, DefaultPolicy(), after(day+time.Minute)).Propagation)
	}
}

// A record that no status can have is ignored: API servers would refuse the status.
func TestInvalidPropagation(t *testing.T) {
	secret := secretWith(t, minted(t, 1, start)).Secret.DeepCopy()
	for name, recorded := range map[string]managerv1alpha1.CertificatePropagation{
		"method":    {Method: "Guess"},
		"addresses": {Method: managerv1alpha1.PropagationSettleTime, NotReached: make([]string, maxNotReached+1)},
		"reason":    {Method: managerv1alpha1.PropagationSettleTime, Reason: strings.Repeat("x", maxReason+1)},
	} {
		text, err := json.Marshal(recorded)
		installtest.Must(t, err)
		secret.Annotations[wellknown.AnnotationPropagation] = string(text)
		installtest.Same(t, name, (*managerv1alpha1.CertificatePropagation)(nil), propagationIn(secret))
	}
}
