package leader

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func lease(namespace, holder string, ago time.Duration) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "olm-webhook-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)}},
	}
}

// No Lease answers for another, regardless of the client that wrote it.
func TestAwayOf(t *testing.T) {
	never := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "olm-webhook-manager", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	for name, test := range map[string]struct {
		leases []coordinationv1.Lease
		want   []string
	}{
		"there is no Lease":                             {nil, nil},
		"it was renewed":                                {[]coordinationv1.Lease{lease("system", "a", 10*time.Second)}, nil},
		"it expires just now":                           {[]coordinationv1.Lease{lease("system", "a", 18*time.Second)}, nil},
		"it was renewed by a clock that is ahead":       {[]coordinationv1.Lease{lease("system", "a", -4*time.Second)}, nil},
		"it was renewed far in the future":              {[]coordinationv1.Lease{lease("system", "a", -1000*time.Hour)}, []string{"system/olm-webhook-manager"}},
		"it expired":                                    {[]coordinationv1.Lease{lease("system", "a", 5*time.Minute)}, []string{"system/olm-webhook-manager"}},
		"it was released":                               {[]coordinationv1.Lease{lease("system", "", time.Second)}, []string{"system/olm-webhook-manager"}},
		"it was never held":                             {[]coordinationv1.Lease{never}, []string{"system/olm-webhook-manager"}},
		"one of two managers is away":                   {[]coordinationv1.Lease{lease("system", "a", time.Hour), lease("other", "b", time.Second)}, []string{"system/olm-webhook-manager"}},
		"a tenant renews a Lease of its own, far ahead": {[]coordinationv1.Lease{lease("system", "a", time.Hour), lease("tenant", "b", -1000*time.Hour)}, []string{"system/olm-webhook-manager", "tenant/olm-webhook-manager"}},
		"both are away":                                 {[]coordinationv1.Lease{lease("system", "a", time.Hour), lease("old", "b", time.Hour)}, []string{"old/olm-webhook-manager", "system/olm-webhook-manager"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := lists.Map(AwayOf(test.leases, now), func(a Away) string { return a.Lease })
			installtest.Same(t, "Leases that no manager holds", test.want, got)
		})
	}
}
