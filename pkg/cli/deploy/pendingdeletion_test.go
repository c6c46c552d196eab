package deploy

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestWhyItIsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		hold PendingDeletion
		want []string
	}{
		"a stranger's finalizer":      {PendingDeletion{Finalizers: []string{"shop.io/a"}}, []string{"its finalizer shop.io/a stays"}},
		"two of them":                 {PendingDeletion{Finalizers: []string{"shop.io/a", "shop.io/b"}}, []string{"shop.io/a", "; its finalizer shop.io/b"}},
		"none":                        {PendingDeletion{}, []string{"no finalizer is left"}},
		"no manager":                  {PendingDeletion{Namespace: "shop", Finalizers: []string{wellknown.FinalizerCSV}}, []string{wellknown.FinalizerCSV, "no manager has removed it", "include shop"}},
		"a manager that was removed":  {PendingDeletion{Finalizers: []string{wellknown.FinalizerCSV}, LeaseMessage: "no manager has held Lease a/b"}, []string{"no manager has removed it", "; no manager has held Lease a/b"}},
		"a manager that waits":        {PendingDeletion{Finalizers: []string{wellknown.FinalizerCSV}, ManagerMessage: "v2 is stored"}, []string{"v2 is stored"}},
		"objects that are held":       {PendingDeletion{Finalizers: []string{apiextensionsv1.CustomResourceCleanupFinalizer}, Objects: 2, Finalized: []string{"b (y)", "a (x)"}, APIServerMessage: "Check"}, []string{"it has 2 objects, among them a (x), b (y): check", "; the API server reports Check"}},
		"objects that cannot be read": {PendingDeletion{Finalizers: []string{apiextensionsv1.CustomResourceCleanupFinalizer}, Objects: UnknownCount}, []string{"cannot be read now"}},
	} {
		t.Run(name, func(t *testing.T) {
			why := test.hold.Cause()
			installtest.Contains(t, why, test.want...)
			installtest.Same(t, "the message names a manager", strings.Contains(strings.Join(test.want, ""), "no manager"), strings.Contains(why, "no manager"))
		})
	}
}

// An API server that tries again has not got any further.
func TestWhatIsLeftOfAnObject(t *testing.T) {
	before := PendingDeletion{Finalizers: []string{apiextensionsv1.CustomResourceCleanupFinalizer}, Objects: 2, APIServerMessage: "InProgress"}
	for name, test := range map[string]struct {
		change func(*PendingDeletion)
		want   bool
	}{
		"another attempt":     {func(h *PendingDeletion) { h.APIServerMessage = "Check" }, false},
		"an object less":      {func(h *PendingDeletion) { h.Objects-- }, true},
		"a finalizer less":    {func(h *PendingDeletion) { h.Finalizers = nil }, true},
		"the manager's words": {func(h *PendingDeletion) { h.ManagerMessage = "v2 is stored" }, true},
	} {
		after := before
		test.change(&after)
		installtest.Same(t, name+": a step", test.want, after.Remaining() != before.Remaining())
	}
}
