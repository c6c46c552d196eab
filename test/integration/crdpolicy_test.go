package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	alongside     = wellknown.AnnotationInstalledAlongside + "1"
	crdPolicyName = policy.Name
)

// policed is a definition in the versions v1 and v2, stored in v2, that the policy is tested with.
type policed struct {
	*env
	crd *apiextensionsv1.CustomResourceDefinition
}

// definition is what the policy is about.
type definition struct {
	annotations map[string]string
	strategy    apiextensionsv1.ConversionStrategyType
	service     string
	served      []string
	storage     string
}

func (p *policed) now() definition {
	p.Helper()
	crd := p.env.crd(p.crd.Name)
	d := definition{annotations: crd.Annotations, strategy: crd.Spec.Conversion.Strategy}
	if w := crd.Spec.Conversion.Webhook; w != nil {
		d.service = w.ClientConfig.Service.Name
		if len(w.ClientConfig.CABundle) == 0 {
			d.service += ", without a CA"
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			d.served = append(d.served, v.Name)
		}
		if v.Storage {
			d.storage = v.Name
		}
	}
	return d
}

// convert is the write of the manager that sets up a conversion.
func (p *policed) convert() {
	p.Helper()
	patch := installtest.OrPanic(json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{wellknown.AnnotationGeneration: "1"}},
		"spec":     map[string]any{"conversion": byService("server-service", p.authority("own").pem())},
	}))
	_, err := extensions(p.env).ApiextensionsV1().CustomResourceDefinitions().Patch(p.ctx, p.crd.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	p.must(err)
}

func byService(name string, ca []byte) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig:             &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "system", Name: name, Path: new("/convert")}, CABundle: ca},
		ConversionReviewVersions: []string{"v1"},
	}}
}

// installs is the write of catalog-operator in the step of an InstallPlan: the manifest of the bundle replaces everything.
func (p *policed) installs(csv string, manifest *apiextensionsv1.CustomResourceDefinition) {
	p.Helper()
	writeAsCatalog(p.env, csv, manifest)
}

// writeAsCatalog reads and then updates a definition, as catalog-operator does.
func writeAsCatalog(e *env, csv string, manifest *apiextensionsv1.CustomResourceDefinition) {
	e.Helper()
	e.must(tryAsCatalog(e.ctx, csv, manifest))
}

func tryAsCatalog(ctx context.Context, csv string, manifest *apiextensionsv1.CustomResourceDefinition) error {
	client := catalogOperator().ApiextensionsV1().CustomResourceDefinitions()
	live, err := client.Get(ctx, manifest.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	next := manifest.DeepCopy()
	next.ObjectMeta = metav1.ObjectMeta{Name: live.Name, ResourceVersion: live.ResourceVersion, Labels: map[string]string{wellknown.LabelManaged: "true"}, Annotations: maps.Clone(manifest.Annotations)}
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, alongside, csv)
	_, err = client.Update(ctx, next, metav1.UpdateOptions{FieldManager: "catalog"})
	return err
}

func (p *policed) manifest(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	return things(p.env, p.crd.Spec.Names.Plural, versions...)
}

func (p *policed) edits(manager string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	p.Helper()
	client := extensions(p.env).ApiextensionsV1().CustomResourceDefinitions()
	p.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the API server writes the status
		crd := kube.Get(p, client, p.crd.Name)
		change(crd)
		_, err := client.Update(p.ctx, crd, metav1.UpdateOptions{FieldManager: manager})
		return err
	}))
}

func (p *policed) patches(kind types.PatchType, text string, options metav1.PatchOptions) {
	p.Helper()
	_, err := extensions(p.env).ApiextensionsV1().CustomResourceDefinitions().Patch(p.ctx, p.crd.Name, kind, []byte(text), options)
	p.must(err)
}

func withoutConversion(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion = nil }

func servingOnly(versions ...string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		for i := range c.Spec.Versions {
			c.Spec.Versions[i].Served = slices.Contains(versions, c.Spec.Versions[i].Name)
		}
	}
}

// The policy keeps what only the manager and its commands may change, for every other writer.
func TestCRDPolicy(t *testing.T) {
	e := newEnv(t)
	failing := policy.Policy()
	failing.Spec.FailurePolicy = new(admissionregistrationv1.Fail) // an expression with an error fails the test
	applyCRDPolicy(e, failing)
	const own, converted = "server-service", apiextensionsv1.WebhookConverter
	held := func(more map[string]string) map[string]string {
		all := map[string]string{wellknown.AnnotationHeldVersions: "v3", wellknown.AnnotationHeldStorageVersion: "v3", wellknown.AnnotationHeldFor: "shop/operator.v2", alongside: "shop/operator.v2"}
		maps.Copy(all, more)
		return all
	}
	generation := map[string]string{wellknown.AnnotationGeneration: "1"}
	withGeneration := func(more map[string]string) map[string]string { maps.Copy(more, generation); return more }
	both := []string{"v1", "v2"}
	kept := definition{annotations: generation, strategy: converted, service: own, served: both, storage: "v2"}
	for name, test := range map[string]struct {
		unconverted bool
		write       func(p *policed)
		want        definition
	}{
		"an InstallPlan without a conversion": {false, func(p *policed) { p.installs("shop/operator.v2", p.manifest("v1", "v2", "v3")) },
			definition{held(generation), converted, own, both, "v2"}},
		"an InstallPlan with the webhook of the bundle": {false, func(p *policed) {
			m := p.manifest("v1", "v2", "v3")
			m.Spec.Conversion = byService("webhook-service", nil)
			p.installs("shop/operator.v2", m)
		}, definition{held(generation), converted, own, both, "v2"}},
		"an InstallPlan that is repeated": {false, func(p *policed) {
			for range 3 {
				p.installs("shop/operator.v2", p.manifest("v1", "v2", "v3"))
			}
		}, definition{held(generation), converted, own, both, "v2"}},
		"an InstallPlan that fails forward": {false, func(p *policed) {
			p.installs("shop/operator.v1", p.manifest("v1", "v2", "v3"))
			p.installs("shop/operator.v2", p.manifest("v1", "v2", "v3"))
		}, definition{held(generation), converted, own, both, "v2"}},
		"the manager": {false, func(p *policed) { p.edits(wellknown.FieldManager, withoutConversion) },
			definition{annotations: generation, strategy: "None", served: both, storage: "v2"}},
		"bundle upgrade": {false, func(p *policed) { p.edits(deploy.FieldManager, withoutConversion) },
			definition{annotations: generation, strategy: "None", served: both, storage: "v2"}},
		"an administrator who has switched it off": {false, func(p *policed) {
			p.edits("kubectl", func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Annotations[wellknown.AnnotationCRDPolicy] = wellknown.CRDPolicyOff
			})
			p.edits("kubectl", withoutConversion)
		}, definition{annotations: map[string]string{wellknown.AnnotationGeneration: "1", wellknown.AnnotationCRDPolicy: "off"}, strategy: "None", served: both, storage: "v2"}},
		"an update": {false, func(p *policed) { p.edits("kubectl", withoutConversion) }, kept},
		"a merge patch": {false, func(p *policed) {
			p.patches(types.MergePatchType, `{"metadata": {"annotations": null}, "spec": {"conversion": {"strategy": "None", "webhook": null}}}`, metav1.PatchOptions{})
		}, kept},
		"a JSON patch": {false, func(p *policed) {
			p.patches(types.JSONPatchType, `[{"op": "remove", "path": "/spec/conversion/webhook/clientConfig/caBundle"}]`, metav1.PatchOptions{FieldManager: "kubectl-patch"})
		}, kept},
		"server-side apply": {false, func(p *policed) {
			text := installtest.OrPanic(json.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": p.crd.Name},
				"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []string{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"namespace": "system", "name": "webhook-service"}}}}}}))
			for range 2 {
				p.patches(types.ApplyPatchType, string(text), metav1.PatchOptions{FieldManager: "gitops", Force: new(true)})
			}
		}, kept},
		"a conversion that is deleted with its definition": {false, func(p *policed) {
			p.edits("kubectl", func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Finalizers = append(c.Finalizers, "example.com/kept")
			})
			p.must(extensions(p.env).ApiextensionsV1().CustomResourceDefinitions().Delete(p.ctx, p.crd.Name, metav1.DeleteOptions{}))
			p.edits("kubectl", withoutConversion)
		}, definition{annotations: generation, strategy: "None", served: both, storage: "v2"}},
		"records of the manager and its commands": {false, func(p *policed) {
			p.edits(wellknown.FieldManager, func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Annotations[wellknown.AnnotationStoredVersions], c.Annotations[wellknown.AnnotationPropagated], c.Annotations["example.com/from-config"] = "v1,v2", "example.com/from-config", "a"
			})
			p.edits("kubectl", func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Annotations = map[string]string{wellknown.AnnotationStoredVersions: "v1"}
			})
		}, definition{withGeneration(map[string]string{wellknown.AnnotationStoredVersions: "v1,v2", wellknown.AnnotationPropagated: "example.com/from-config", "example.com/from-config": "a"}), converted, own, both, "v2"}},
		"a version that an administrator adds": {false, func(p *policed) {
			p.edits("kubectl", func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec = p.manifest("v1", "v2", "v3").Spec })
		}, definition{withGeneration(map[string]string{wellknown.AnnotationHeldVersions: "v3", wellknown.AnnotationHeldStorageVersion: "v3"}), converted, own, both, "v2"}},
		"a version that is read and written back": {false, func(p *policed) {
			p.installs("shop/operator.v2", p.manifest("v1", "v2", "v3"))
			p.edits("kubectl", func(c *apiextensionsv1.CustomResourceDefinition) { c.Labels["example.com/team"] = "a" })
		}, definition{held(generation), converted, own, both, "v2"}},
		"a version that its author does not serve any more": {false, func(p *policed) {
			p.installs("shop/operator.v2", p.manifest("v1", "v2", "v3"))
			m := p.manifest("v1", "v3", "v2")
			servingOnly("v1", "v2")(m)
			p.installs("shop/operator.v3", m)
		}, definition{withGeneration(map[string]string{alongside: "shop/operator.v3"}), converted, own, both, "v2"}},
		"all versions replaced by one": {false, func(p *policed) {
			m := p.manifest("v1", "v2", "v3")
			servingOnly("v3")(m)
			p.installs("shop/operator.v2", m)
		}, definition{withGeneration(map[string]string{alongside: "shop/operator.v2"}), converted, own, []string{"v3"}, "v3"}},

		"an InstallPlan that brings a version, without a conversion": {true, func(p *policed) { p.installs("shop/operator.v2", p.manifest("v1", "v2", "v3")) },
			definition{annotations: held(nil), strategy: "None", served: both, storage: "v2"}},
		"an InstallPlan that brings the first conversion": {true, func(p *policed) {
			m := p.manifest("v1", "v2", "v3")
			m.Spec.Conversion = byService("webhook-service", []byte("\n"))
			for range 2 {
				p.installs("shop/operator.v2", m)
			}
		}, definition{annotations: held(map[string]string{wellknown.AnnotationHeldConversion: "system,webhook-service,443,/convert,v1"}), strategy: "None", served: both, storage: "v2"}},
		"an InstallPlan that brings a conversion with a CA": {true, func(p *policed) {
			m := p.manifest("v1", "v2")
			m.Spec.Conversion = byService("webhook-service", p.authority("other").pem())
			p.installs("shop/operator.v2", m)
		}, definition{annotations: map[string]string{alongside: "shop/operator.v2"}, strategy: converted, service: "webhook-service", served: both, storage: "v2"}},
		"another client's definition": {true, func(p *policed) {
			m := p.manifest("v1", "v2", "v3")
			m.Spec.Conversion = byService("webhook-service", nil)
			p.edits("helm", func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec = m.Spec })
		}, definition{strategy: converted, service: "webhook-service, without a CA", served: []string{"v1", "v2", "v3"}, storage: "v3"}},
		"another client's conversion with the manager's annotation": {true, func(p *policed) {
			p.edits("helm", func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Annotations, c.Spec.Conversion = map[string]string{wellknown.AnnotationGeneration: "1"}, byService("other", p.authority("other").pem())
			})
			p.edits("helm", withoutConversion)
		}, definition{annotations: generation, strategy: "None", served: both, storage: "v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &policed{env: newEnv(t)}
			p.crd = newCRD(p.env, "dials", "v1", "v2")
			if !test.unconverted {
				p.convert()
			}
			test.write(p)
			installtest.Same(t, "the definition", test.want, p.now(), gocmp.AllowUnexported(definition{}))
			if crd := p.env.crd(p.crd.Name); test.want.service == own && registration.GenerationOf(crd) != 1 {
				t.Errorf("the manager does not own what is kept: %+v", crd.ManagedFields)
			}
			if crd := p.env.crd(p.crd.Name); test.want.service == own && drift.LastWriter(crd, drift.GenerationField) != "" {
				t.Errorf("another client owns the annotation: %+v", crd.ManagedFields)
			}
		})
	}
}

// applyCRDPolicy creates the policy and its binding, and waits until the API server applies them. They are deleted with
// the test, which must not run in parallel with others.
func applyCRDPolicy(e *env, p *admissionregistrationv1.MutatingAdmissionPolicy) {
	e.Helper()
	policies, bindings := e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	noCRDPolicy(e)
	kube.Create(e, policies, p)
	kube.Create(e, bindings, policy.Binding())
	crdPolicyIsActive(e, true)
}

// noCRDPolicy waits until the API server does not apply the policy of an earlier test. The policy of this test is deleted
// with the test.
func noCRDPolicy(e *env) {
	e.Helper()
	deleteOnce(e, crdPolicyName, e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings(), e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies())
	crdPolicyIsActive(e, false)
}

// crdPolicyIsActive waits until the API server applies the policy, or does not any more.
func crdPolicyIsActive(e *env, active bool) {
	e.Helper()
	e.marks++
	plural := fmt.Sprintf("probes%d", e.marks)
	probe, next := things(e, plural, "v1"), things(e, plural, "v1", "v2")
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{probe, next} {
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "Probe" + plural}
	}
	probe = kube.CreateTemporary(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), probe)
	next.ResourceVersion, next.Annotations = probe.ResourceVersion, map[string]string{alongside: "shop/operator.v1"}
	e.eventually("the policy is applied, or is not any more", func() (bool, any) {
		written, err := extensions(e).ApiextensionsV1().CustomResourceDefinitions().Update(e.ctx, next, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsConflict(err) {
			next.ResourceVersion = e.crd(probe.Name).ResourceVersion // its status has changed
			return false, err
		}
		return err == nil && written.Spec.Versions[1].Served != active, err
	})
}
