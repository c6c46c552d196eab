package drill

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An opening ends. What keeps its own pods from returning when the webhook is closed is found while it is open, too.
func TestPredictWhileOpen(t *testing.T) {
	const assumed = "Configuration a is open for a limited time"
	for name, test := range map[string]struct {
		state    managerv1alpha1.FailOpenState
		requests string
		fields   string
		metadata string
		blocked  bool
		assumed  string
	}{
		"closed":             {managerv1alpha1.FailOpenClosed, "", "failurePolicy: Fail", declaredByCSV, true, ""},
		"open for all":       {managerv1alpha1.FailOpenAll, "", "failurePolicy: Fail", declaredByCSV, true, assumed},
		"open for some":      {managerv1alpha1.FailOpenPartly, `request.namespace == "a"`, "failurePolicy: Fail", declaredByCSV, true, assumed},
		"Ignore":             {managerv1alpha1.FailOpenClosed, "", "failurePolicy: Ignore", declaredByCSV, false, ""},
		"of no CSV":          {managerv1alpha1.FailOpenAll, "", "failurePolicy: Fail", "metadata: {name: a}", false, ""},
		"without a deadlock": {managerv1alpha1.FailOpenAll, "", except("a"), declaredByCSV, false, assumed},
	} {
		for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				configuration := strings.Replace(hook("a", test.fields), "metadata: {name: a}", test.metadata, 1)
				s := snapshot(t, parse(t, base+operator("a")+strings.Replace(configuration, "ValidatingWebhookConfiguration", kind, 1)))
				for i := range s.Admission.ValidatingWebhooks {
					webhookconfig.Open(&s.Admission.ValidatingWebhooks[i], test.state, test.requests)
				}
				for i := range s.Admission.MutatingWebhooks {
					webhookconfig.Open(&s.Admission.MutatingWebhooks[i], test.state, test.requests)
				}
				p := installtest.OrPanic(Predict(s))
				installtest.Same(t, "a cycle", test.blocked, len(p.Cycles) > 0)
				installtest.Says(t, "assumptions", strings.Replace(test.assumed, "Configuration", kind, 1), strings.Join(p.Assumptions, "; "))
				for _, c := range configurations(s) {
					if webhookconfig.OpenState(c) != test.state {
						t.Error("the snapshot was changed")
					}
				}
			})
		}
	}
}

// configurations returns the configurations of a snapshot.
func configurations(s Snapshot) (all []metav1.Object) {
	for i := range s.Admission.ValidatingWebhooks {
		all = append(all, &s.Admission.ValidatingWebhooks[i])
	}
	for i := range s.Admission.MutatingWebhooks {
		all = append(all, &s.Admission.MutatingWebhooks[i])
	}
	return all
}
