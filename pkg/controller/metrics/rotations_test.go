package metrics

import (
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRotationsCompleted(t *testing.T) {
	status := func(phase managerv1alpha1.CertificatePhase) managerv1alpha1.WebhookRolloutStatus {
		return managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{
			{Name: "manager", Certificate: &managerv1alpha1.CertificateStatus{Provider: managerv1alpha1.ProviderManager, Phase: phase}}, {Name: "worker"},
		}}
	}
	const bootstrap, stable, promoting = managerv1alpha1.CertificateBootstrap, managerv1alpha1.CertificateStable, managerv1alpha1.CertificatePromoting
	for name, test := range map[string]struct {
		phases []managerv1alpha1.CertificatePhase // a minute apart
		want   time.Duration
	}{
		"a whole rotation":              {[]managerv1alpha1.CertificatePhase{stable, promoting, promoting, stable}, 2 * time.Minute},
		"a rotation that began earlier": {[]managerv1alpha1.CertificatePhase{promoting, promoting, stable}, 0},
		"a first certificate":           {[]managerv1alpha1.CertificatePhase{bootstrap, stable}, 0},
		"a rotation in progress":        {[]managerv1alpha1.CertificatePhase{stable, promoting, promoting}, 0},
		"no rotation":                   {[]managerv1alpha1.CertificatePhase{stable, stable}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var r rotations
			var got time.Duration
			now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
			for i := 1; i < len(test.phases); i++ {
				got += r.completed(queue.CSVKey("shop", "shop.v1"), status(test.phases[i-1]), status(test.phases[i]), now.Add(time.Duration(i)*time.Minute))[managerv1alpha1.ProviderManager]
			}
			installtest.Same(t, "the duration", test.want, got)
		})
	}
}
