package takeover

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

const firstCA, secondCA = "first CA", "second CA"

// shop is a CSV with the Deployment manager, which serves a webhook, and what olm-operator made of it. Its pods serve a
// certificate of the first CA.
type shop struct {
	csv  *operatorsv1alpha1.ClusterServiceVersion
	live *appsv1.Deployment
	in   Input
}

func newShop(order string, csv *operatorsv1alpha1.ClusterServiceVersion) *shop {
	csv.Annotations = labels.Merge(installtest.ScopeOf(csv).Annotations(), labels.Set{"example.com/from": "the CSV"})
	csv.Labels = map[string]string{wellknown.LabelTakeover: order}
	s := &shop{csv: csv}
	s.in = Input{
		Input: render.Input{
			CSV: csv, Scope: installtest.ScopeOf(csv), Services: installtest.ServicesOf(csv),
			Trust: map[string]render.Trust{"manager": {CABundle: []byte(firstCA), CAHash: BundleHash([]byte(firstCA))}},
		},
		Certificates: map[string]managerv1alpha1.CertificateStatus{
			"manager": {Provider: managerv1alpha1.ProviderManager, Phase: managerv1alpha1.CertificateStable, TrustedCAs: 1},
		},
	}
	s.live = render.OLMDeployment(s.in.Input, csvspec.Deployments(csv)[0], BundleHash([]byte(firstCA)))
	s.live.ResourceVersion = "1"
	return s
}

func webhookShop(order string) *shop {
	return newShop(order, installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))
}

// rotate has the registrations trust the second CA. The pods were not replaced for it.
func (s *shop) rotate() {
	s.in.Trust["manager"] = render.Trust{CABundle: []byte(secondCA), CAHash: caHashOf(s.live)}
}

func (s *shop) formed() render.Deployment {
	s.in.Deployments = map[string]*appsv1.Deployment{"manager": s.live}
	return Apply(s.in, render.Objects(s.in.Input)).Deployments[0]
}

// settle writes the desired Deployment, as often as it differs.
func (s *shop) settle(t *testing.T) {
	t.Helper()
	for range 3 {
		object := s.formed().Object
		if drift.Of(object, s.live).None() {
			return
		}
		s.live = object
	}
	t.Fatal("the desired Deployment changes with each write")
}

func container(csv *operatorsv1alpha1.ClusterServiceVersion) *corev1.Container {
	return &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
}

func TestForm(t *testing.T) {
	for name, test := range map[string]struct {
		order   string
		change  func(*shop)
		adopted bool
	}{
		"held":                           {wellknown.TakeoverHeld, func(*shop) {}, true},
		"no order":                       {"", func(*shop) {}, false},
		"an unknown order":               {"hold", func(*shop) {}, false},
		"converge":                       {wellknown.TakeoverConverge, func(*shop) {}, false},
		"give-back":                      {wellknown.TakeoverGiveBack, func(*shop) {}, true},
		"held, rotated":                  {wellknown.TakeoverHeld, (*shop).rotate, true},
		"give-back, rotated":             {wellknown.TakeoverGiveBack, (*shop).rotate, true},
		"held, another image":            {wellknown.TakeoverHeld, func(s *shop) { container(s.csv).Image = "shop:2" }, false},
		"held, an annotation of the CSV": {wellknown.TakeoverHeld, func(s *shop) { s.csv.Annotations["example.com/from"] = "an edit" }, false},
		"held, without an annotation":    {wellknown.TakeoverHeld, func(s *shop) { delete(s.csv.Annotations, "example.com/from") }, false},
		"held, a variable in the config": {wellknown.TakeoverHeld, func(s *shop) { s.in.Config.Env = []corev1.EnvVar{{Name: "A", Value: "b"}} }, false},
		"held, an instruction in the config": {wellknown.TakeoverHeld, func(s *shop) {
			s.in.Config.Annotations = map[string]string{wellknown.AnnotationCertificateValidity: "720h"}
		}, true},
		"held, an annotation in the config": {wellknown.TakeoverHeld, func(s *shop) { s.in.Config.Annotations = map[string]string{"example.com/a": "b"} }, false},
		"held, a request to rotate":         {wellknown.TakeoverHeld, func(s *shop) { s.csv.Annotations[wellknown.AnnotationRotate] = "now" }, true},
		"held, applied by kubectl":          {wellknown.TakeoverHeld, appliedByKubectl, true},
		"held, pods in the manager's form": {wellknown.TakeoverHeld, func(s *shop) {
			s.live.Spec.Template.Labels = labels.Set{"app": "manager", wellknown.LabelCSV: "shop.v1"}
		}, false},
		"held, the Deployment does not exist": {wellknown.TakeoverHeld, func(s *shop) { s.live = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := webhookShop(test.order)
			test.change(s)
			d := s.formed()
			installtest.Same(t, "adopted", test.adopted, d.Adopted)
			installtest.Same(t, "the pods are the manager's", !test.adopted, d.Object.Spec.Template.Labels[wellknown.LabelCSV] != "")
			if test.adopted {
				installtest.None(t, "differences of the pods", drift.Of(&appsv1.Deployment{Spec: d.Object.Spec}, &appsv1.Deployment{Spec: s.live.Spec}).Fields)
			}
			if test.adopted && test.order == wellknown.TakeoverHeld {
				installtest.None(t, "differences", drift.Of(d.Object, s.live).Fields)
			}
		})
	}
}

// appliedByKubectl has an annotation in the pods that the caches do not have of the CSV.
func appliedByKubectl(s *shop) {
	s.csv.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	s.live = render.OLMDeployment(s.in.Input, csvspec.Deployments(s.csv)[0], BundleHash([]byte(firstCA)))
	delete(s.csv.Annotations, corev1.LastAppliedConfigAnnotation)
}

// Admission changed what olm-operator wrote: that stays. What another client changed is reverted to olm-operator's form.
func TestChangedFieldOfAHeldDeployment(t *testing.T) {
	for name, test := range map[string]struct {
		writer string
		want   string
	}{
		"admission":      {"olm", "mirror/shop:1"},
		"another client": {"kubectl-edit", "shop:1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := webhookShop(wellknown.TakeoverHeld)
			s.live.Spec.Template.Spec.Containers[0].Image = "mirror/shop:1"
			s.live.ManagedFields = []metav1.ManagedFieldsEntry{
				fieldsBy("olm", `{"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"manager\"}":{}}}}}}`),
				fieldsBy(test.writer, `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"manager\"}":{"f:image":{}}}}}}}`),
			}
			d := s.formed()
			installtest.Same(t, "adopted", true, d.Adopted)
			installtest.Same(t, "the image", test.want, d.Object.Spec.Template.Spec.Containers[0].Image)
		})
	}
}

func TestReverted(t *testing.T) {
	s := webhookShop(wellknown.TakeoverHeld)
	render.WriteOutListDefaults(&s.live.Spec.Template.Spec)
	reverted := func() []string { return Reverted(s.in.Input, csvspec.Deployments(s.csv)[0], s.live) }
	installtest.None(t, "fields of an untouched Deployment", reverted())
	s.live.Spec.Replicas = new(int32(3))
	s.live.Labels = labels.Merge(s.live.Labels, labels.Set{"example.com/a": "b"})
	installtest.None(t, "fields of a scaled Deployment", reverted())
	s.live.Spec.Template.Spec.Volumes = s.live.Spec.Template.Spec.Volumes[1:]
	installtest.Same(t, "a field of a removed volume is reverted", true, len(reverted()) > 0)
}

func fieldsBy(manager, fields string) metav1.ManagedFieldsEntry {
	raw := &metav1.FieldsV1{}
	raw.SetRawBytes([]byte(fields))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: raw}
}

// Pods that do not reload are restarted for a certificate. The form is still olm-operator's.
func TestRestartOfAHeldDeployment(t *testing.T) {
	s := webhookShop(wellknown.TakeoverHeld)
	s.in.Trust["manager"] = render.Trust{CABundle: []byte(secondCA), CAHash: BundleHash([]byte(secondCA)), RestartedFor: "1"}
	s.settle(t)
	installtest.Same(t, "the hash of the CA in the pods", BundleHash([]byte(secondCA)), caHashOf(s.live))
	d := s.formed()
	installtest.Same(t, "adopted", true, d.Adopted)
	installtest.None(t, "differences", drift.Of(d.Object, s.live).Fields)
}

func TestGivenBack(t *testing.T) {
	for name, test := range map[string]struct {
		owning   bool // an APIService, too
		change   func(*shop)
		replaces bool // the pods
	}{
		"as olm-operator made it":        {change: func(*shop) {}},
		"rotated":                        {change: (*shop).rotate},
		"an APIService":                  {owning: true, change: func(*shop) {}},
		"an APIService, rotated":         {owning: true, change: (*shop).rotate, replaces: true},
		"converged":                      {change: (*shop).converge},
		"converged, rotated":             {change: func(s *shop) { s.converge(); s.rotate() }},
		"converged, then edited":         {change: func(s *shop) { s.converge(); container(s.csv).Image = "shop:2" }, replaces: true},
		"converged, with an instruction": {change: func(s *shop) { s.csv.Annotations[wellknown.AnnotationProbe] = "handshake"; s.converge() }, replaces: true},
		"a request to rotate":            {change: func(s *shop) { s.csv.Annotations[wellknown.AnnotationRotate] = "now" }},
		"edited":                         {change: func(s *shop) { container(s.csv).Image = "shop:2" }, replaces: true},
		"pods are restarted for a certificate": {change: func(s *shop) {
			s.in.Trust["manager"] = render.Trust{CABundle: []byte(secondCA), CAHash: BundleHash([]byte(secondCA)), RestartedFor: "1"}
		}, replaces: true},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))
			if test.owning {
				csv = installtest.Owning(csv, "Pond", "manager", 443)
			}
			s := newShop(wellknown.TakeoverGiveBack, csv)
			test.change(s)
			before := s.live.Spec.Template.DeepCopy()
			s.settle(t)
			installtest.Same(t, "the pods are replaced", test.replaces, !drift.Of(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: *before}}, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: s.live.Spec.Template}}).None())
			s.isAccepted(t)

			// olm-operator did not work yet, and the version is held again: the pods stay.
			before = s.live.Spec.Template.DeepCopy()
			s.csv.Labels[wellknown.LabelTakeover] = wellknown.TakeoverHeld
			s.rotate()
			s.settle(t)
			installtest.None(t, "differences of the pods that are held again", drift.Of(
				&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: *before}}, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: s.live.Spec.Template}}).Fields)
		})
	}
}

func (s *shop) converge() {
	order := s.csv.Labels[wellknown.LabelTakeover]
	s.csv.Labels[wellknown.LabelTakeover] = wellknown.TakeoverConverge
	s.live = s.formed().Object
	s.csv.Labels[wellknown.LabelTakeover] = order
}

// isAccepted checks what olm-operator checks of a Deployment.
func (s *shop) isAccepted(t *testing.T) {
	t.Helper()
	csv := s.csv.DeepCopy()
	csv.Annotations = WithoutRequests(csv.Annotations)
	in := s.in.Input
	in.CSV = csv
	want := render.OLMDeployment(in, csvspec.Deployments(csv)[0], BundleHash(in.Trust["manager"].CABundle))
	for label, value := range want.Labels {
		installtest.Same(t, "label "+label, value, s.live.Labels[label])
	}
	for annotation, value := range csv.Annotations {
		installtest.Same(t, "annotation "+annotation+" of the pods", value, s.live.Spec.Template.Annotations[annotation])
	}
	if len(csv.Spec.APIServiceDefinitions.Owned) > 0 {
		installtest.Same(t, "the hash of the CA in the pods", caHashOf(want), caHashOf(s.live))
	}
}

// While a certificate is rotated, the hash that olm-operator expects is not known.
func TestReturnWaitsForARotation(t *testing.T) {
	s := webhookShop(wellknown.TakeoverGiveBack)
	s.in.Certificates["manager"] = managerv1alpha1.CertificateStatus{Provider: managerv1alpha1.ProviderManager, Phase: managerv1alpha1.CertificatePromoting, TrustedCAs: 2}
	s.in.Trust["manager"] = render.Trust{CABundle: []byte(secondCA + firstCA), CAHash: caHashOf(s.live)}
	installtest.None(t, "differences", drift.Of(s.formed().Object, s.live).Fields)
	status := s.in.Report(Progress{})
	installtest.Same(t, "the form", managerv1alpha1.TakeoverGivingBack, status.Form)
	installtest.Contains(t, status.Message, "Deployment shop/manager", "phase Promoting")
}
