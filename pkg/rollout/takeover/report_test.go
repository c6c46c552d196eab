package takeover

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestReport(t *testing.T) {
	available := Progress{Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager", State: managerv1alpha1.DeploymentAvailable}}}
	progressing := Progress{Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager", State: managerv1alpha1.DeploymentProgressing}}}
	writes := available
	writes.Writes = true
	refused := available
	refused.Refused = map[string]string{"Service shop/manager-service": "no"}
	converged := func(s *shop) { s.converge() }
	returned := func(s *shop) { s.live = s.formed().Object }
	for name, test := range map[string]struct {
		order    string
		change   func(*shop)
		progress Progress
		form     managerv1alpha1.TakeoverForm // empty for no report
		left     int
		message  string
	}{
		"no order, converged":              {"", converged, available, "", 0, ""},
		"no order, as olm-operator":        {"", func(*shop) {}, available, managerv1alpha1.TakeoverConverging, 1, ""},
		"held":                             {wellknown.TakeoverHeld, func(*shop) {}, available, managerv1alpha1.TakeoverAdopted, 1, ""},
		"held, converged":                  {wellknown.TakeoverHeld, converged, available, managerv1alpha1.TakeoverConverged, 0, ""},
		"converge":                         {wellknown.TakeoverConverge, func(*shop) {}, available, managerv1alpha1.TakeoverConverging, 1, ""},
		"converged, not available":         {wellknown.TakeoverConverge, converged, progressing, managerv1alpha1.TakeoverConverging, 1, "available"},
		"converged":                        {wellknown.TakeoverConverge, converged, available, managerv1alpha1.TakeoverConverged, 0, ""},
		"give-back":                        {wellknown.TakeoverGiveBack, (*shop).rotate, available, managerv1alpha1.TakeoverGivingBack, 1, "is being changed"},
		"give-back, no Deployment":         {wellknown.TakeoverGiveBack, func(s *shop) { s.live = nil }, available, managerv1alpha1.TakeoverGivingBack, 1, "does not exist"},
		"give-back, not available":         {wellknown.TakeoverGiveBack, returned, progressing, managerv1alpha1.TakeoverGivingBack, 1, "available"},
		"give-back, writes":                {wellknown.TakeoverGiveBack, returned, writes, managerv1alpha1.TakeoverGivingBack, 0, "being written"},
		"give-back, refused":               {wellknown.TakeoverGiveBack, returned, refused, managerv1alpha1.TakeoverGivingBack, 0, "refuses"},
		"give-back, another phase":         {wellknown.TakeoverGiveBack, func(s *shop) { returned(s); s.csv.Status.Phase = "Failed" }, available, managerv1alpha1.TakeoverGivingBack, 0, "phase is Failed"},
		"give-back, another issuer":        {wellknown.TakeoverGiveBack, func(s *shop) { returned(s); s.issuedBy(managerv1alpha1.ProviderCertManager) }, available, managerv1alpha1.TakeoverGivingBack, 1, "cert-manager"},
		"give-back, another Service":       {wellknown.TakeoverGiveBack, func(s *shop) { returned(s); s.in.Input.Services = map[string]string{"manager": "other"} }, available, managerv1alpha1.TakeoverGivingBack, 1, "Service other"},
		"given back":                       {wellknown.TakeoverGiveBack, returned, available, managerv1alpha1.TakeoverGivenBack, 0, ""},
		"given back, with the order of it": {wellknown.TakeoverGivenBack, func(*shop) {}, available, managerv1alpha1.TakeoverGivenBack, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := webhookShop(test.order)
			s.csv.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
			test.change(s)
			s.in.Deployments = map[string]*appsv1.Deployment{}
			if s.live != nil {
				s.in.Deployments["manager"] = s.live
			}
			status := s.in.Report(test.progress)
			if status == nil {
				installtest.Same(t, "the form", test.form, "")
				return
			}
			installtest.Same(t, "the form", test.form, status.Form)
			installtest.Same(t, "the number of Deployments", test.left, len(status.Deployments))
			installtest.Contains(t, status.Message, test.message)
		})
	}
}

// The label given-back does not show that the objects are given back.
func TestEnded(t *testing.T) {
	if Ended(nil) != nil {
		t.Error("there is a report of what was never adopted")
	}
	returned := &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverGivenBack}
	installtest.Same(t, "what is given back", returned, Ended(returned))
	for _, form := range []managerv1alpha1.TakeoverForm{managerv1alpha1.TakeoverAdopted, managerv1alpha1.TakeoverConverged, managerv1alpha1.TakeoverGivingBack} {
		ended := Ended(&managerv1alpha1.TakeoverStatus{Form: form})
		installtest.Same(t, "the form", form, ended.Form)
		installtest.Contains(t, ended.Message, "the objects are not given back", "give-back")
	}
}

// A ClusterServiceVersion whose requirements are not met is not given back, unless it was before.
func TestNotCompared(t *testing.T) {
	adopted := &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverAdopted}
	returned := &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverGivenBack}
	giving := &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverGivingBack, Message: "nothing is given back while the ClusterServiceVersion is Pending: a CRD is missing"}
	for name, test := range map[string]struct {
		order          string
		previous, want *managerv1alpha1.TakeoverStatus
	}{
		"no order":                         {"", nil, nil},
		"held":                             {wellknown.TakeoverHeld, adopted, adopted},
		"held, after an earlier return":    {wellknown.TakeoverHeld, returned, nil},
		"given back, of what was adopted":  {wellknown.TakeoverGiveBack, adopted, giving},
		"given back, without a report":     {wellknown.TakeoverGiveBack, nil, giving},
		"given back, as it was before":     {wellknown.TakeoverGiveBack, returned, returned},
		"given back, with another message": {wellknown.TakeoverGiveBack, &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverGivingBack}, giving},
	} {
		csv := webhookShop(test.order).csv
		csv.Status.Phase, csv.Status.Message = "Pending", "a CRD is missing"
		installtest.Same(t, name, test.want, NotCompared(csv, test.previous))
	}
}

func (s *shop) issuedBy(provider managerv1alpha1.CertificateProvider) {
	c := s.in.Certificates["manager"]
	c.Provider = provider
	s.in.Certificates["manager"] = c
}

func TestSecret(t *testing.T) {
	bundle := []byte(firstCA)
	good := &corev1.Secret{Data: map[string][]byte{wellknown.KeyOLMCA: bundle}}
	good.Annotations = map[string]string{wellknown.AnnotationCAHash: BundleHash(bundle)}
	if Secret(good, bundle) != nil {
		t.Error("a Secret that olm-operator can read is written")
	}
	for name, live := range map[string]*corev1.Secret{
		"no data":    {},
		"another CA": {Data: map[string][]byte{wellknown.KeyOLMCA: []byte(secondCA)}},
		"no hash":    {Data: good.Data},
	} {
		t.Run(name, func(t *testing.T) {
			written := Secret(live, bundle)
			installtest.Same(t, "the CA", firstCA, string(written.Data[wellknown.KeyOLMCA]))
			installtest.Same(t, "the hash", BundleHash(bundle), written.Annotations[wellknown.AnnotationCAHash])
		})
	}
}
