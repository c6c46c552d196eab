package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The status of the ClusterServiceVersion has the newest certificate and the earliest renewal.
func TestReportCertificates(t *testing.T) {
	at := func(hours int) *metav1.Time { return new(metav1.NewTime(noon.Add(time.Duration(hours) * time.Hour))) }
	certificate := func(from, renewalTime *metav1.Time) managerv1alpha1.DeploymentStatus {
		return managerv1alpha1.DeploymentStatus{Certificate: &managerv1alpha1.CertificateStatus{NotBefore: from, RenewalTime: renewalTime}}
	}
	csv := operatorsv1alpha1.ClusterServiceVersionStatus{CertsLastUpdated: at(-9), CertsRotateAt: at(-8)}
	expect := func(when string, updated, renewal *metav1.Time) {
		t.Helper()
		installtest.Same(t, when+": updated", updated, csv.CertsLastUpdated)
		installtest.Same(t, when+": renewal", renewal, csv.CertsRotateAt)
	}
	SetCertificates(&csv, managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{}, certificate(nil, nil)}})
	expect("without a valid certificate", at(-9), at(-8))
	SetCertificates(&csv, managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{
		certificate(at(1), at(12)), {}, certificate(at(3), at(11)), certificate(at(2), at(13)),
	}})
	expect("with three certificates", at(3), at(11))
	SetCertificates(&csv, managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{
		certificate(at(5), nil), certificate(at(4), at(14)),
	}})
	expect("with one renewal", at(5), at(14))
	SetCertificates(&csv, managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{certificate(at(6), nil)}})
	expect("without a renewal", at(6), nil)
	given := func(from, at *metav1.Time) managerv1alpha1.DeploymentStatus {
		d := certificate(from, nil)
		d.Certificate.LastUpdateTime = at
		return d
	}
	SetCertificates(&csv, managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{
		given(at(6), at(7)), given(at(1), at(9)), given(at(5), at(8)), certificate(at(4), nil),
	}})
	installtest.Same(t, "updated, when the last of them was given to pods", at(9), csv.CertsLastUpdated)
}

// An event names the trust, and nothing that is untrue after another transition to its phase.
func TestCertificateEvents(t *testing.T) {
	const bootstrap, stable, distributing, promoting, retiring = managerv1alpha1.CertificateBootstrap, managerv1alpha1.CertificateStable,
		managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting, managerv1alpha1.CertificateRetiring
	for name, test := range map[string]struct {
		before, after managerv1alpha1.CertificatePhase
		trusted       int64
		want          string
	}{
		"the first":       {"", stable, 1, ""},
		"after Bootstrap": {bootstrap, stable, 1, ""},
		"the same":        {stable, stable, 1, ""},
		"a rotation":      {stable, distributing, 2, "CertificateDistributing: the webhooks of deployment manager are made to trust the certificate that follows generation 2"},
		"a promotion": {distributing, promoting, 2,
			"CertificatePromoting: the pods of deployment manager are given certificate generation 2; the CAs of other certificates that they may serve stay trusted until all pods serve it, or until those have expired"},
		"a promotion with a compromised CA": {stable, promoting, 1,
			"CertificatePromoting: the pods of deployment manager are given certificate generation 2; no CA but its own is trusted, so that calls fail to pods that serve a certificate of another"},
		"a promotion ends": {promoting, retiring, 1,
			"CertificateRetiring: the webhooks of deployment manager are made to trust the CA of certificate generation 2 alone; no pod is known to serve another certificate that has not expired"},
		"another client added a CA": {stable, retiring, 1,
			"CertificateRetiring: the webhooks of deployment manager are made to trust the CA of certificate generation 2 alone; pods are given nothing that another CA signed"},
		"a rotation ends":             {retiring, stable, 1, "CertificateStable: deployment manager has certificate generation 2, and nothing else is trusted"},
		"lost, without registrations": {stable, bootstrap, 0, "warning CertificateBootstrap: deployment manager has lost its certificate: why"},
	} {
		t.Run(name, func(t *testing.T) {
			status := func(phase managerv1alpha1.CertificatePhase, trusted int64) managerv1alpha1.WebhookRolloutStatus {
				d := managerv1alpha1.DeploymentStatus{Name: "manager"}
				if phase != "" {
					d.Certificate = &managerv1alpha1.CertificateStatus{Phase: phase, Generation: 2, TrustedCAs: trusted, Message: "why"}
				}
				return managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{d}}
			}
			got := ""
			for _, e := range EventsOf(status(test.before, 1), status(test.after, test.trusted)) {
				if e.Warning {
					got = "warning "
				}
				got += e.Reason + ": " + e.Message
			}
			installtest.Same(t, "the event", test.want, got)
		})
	}
}
