package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The conversion is written when the webhook may be registered, never with an empty caBundle, and is repaired within a
// second when the bundle's CRD is applied over it.
func TestConversion(t *testing.T) {
	e := newParallelEnv(t)
	crd := newCRD(e, "gadgets", "v1", "v2")
	e.group("og", operatorsv1.OperatorGroupSpec{})
	m := manageByOwnClock(e, cluster.Config())
	stop := m.flows()
	e.create(converting("operator.v1", crd.Name))
	awaitObject(e, e.kube.AppsV1().Deployments(e.namespace), "server")
	if got := conversion(e, crd.Name).Strategy; got != apiextensionsv1.NoneConverter {
		t.Fatalf("converted by %s before its Deployment is available", got)
	}

	serverStarts(e)
	registered := conversion(e, crd.Name)
	service := registered.Webhook.ClientConfig.Service
	if service.Name != "server-service" || *service.Path != "/convert" || len(registered.Webhook.ClientConfig.CABundle) == 0 {
		t.Errorf("converted by %+v with a caBundle of %d bytes", service, len(registered.Webhook.ClientConfig.CABundle))
	}

	definitions := e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	stop()
	m.comesBack(definitions, crd.Name, func() {
		editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion = nil }) // as bundles have it
	})
	m.flows()
	same(t, "caBundle", conversion(e, crd.Name).Webhook.ClientConfig.CABundle, registered.Webhook.ClientConfig.CABundle)
	m.emits("Warning ConversionInterrupted " + crd.Name + " had no conversion webhook for at most ")
	e.eventually("the WebhookRollout reports the gap", func() (bool, any) {
		w := webhookStatus(e, "operator.v1", "v.example.com")
		return w.State == "Registered" && w.LastGap != nil && w.LastGap.EndTime != nil && w.LastGap.By == "administrator" && slices.Equal(w.LastGap.CRDs, []string{crd.Name}), w.LastGap
	})

	e.uninstall("operator.v1")
	same(t, "the strategy without objects after uninstallation", conversion(e, crd.Name).Strategy, apiextensionsv1.NoneConverter)
}

// A definition that names the Service before anybody serves, without a caBundle, so that
// requests in the other version fail and lose nothing, is as good as not converted.
func TestConversionOfAnOpenedDefinition(t *testing.T) {
	e := newParallelEnv(t)
	crd := newCRD(e, "sprockets", "v1", "v2")
	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: e.namespace, Name: "server-service", Path: new("/convert")}},
			ConversionReviewVersions: []string{"v1"},
		}}
	})
	e.group("og", operatorsv1.OperatorGroupSpec{})
	m := e.manage()
	e.create(converting("operator.v1", crd.Name))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	m.looksAgain("operator.v1")
	w := webhookStatus(e, "operator.v1", "v.example.com")
	same(t, "state and gap of the webhook", w.State == "Waiting" && w.LastGap == nil, true)
	none(t, "the caBundle before its Deployment is available", conversion(e, crd.Name).Webhook.ClientConfig.CABundle)
	serverStarts(e)
	if len(conversion(e, crd.Name).Webhook.ClientConfig.CABundle) == 0 {
		t.Error("it has no caBundle")
	}
}

// A version without the webhook becomes active once no object can lose a field by it, and reports how to get there.
func TestUpgradeDropsTheConversion(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "levers", "v1", "v2")
	e.manage()
	newObject(e, crd)
	e.install(converting("operator.v1", crd.Name))
	v2 := converting("operator.v2", crd.Name)
	v2.Spec.Replaces, v2.Spec.WebhookDefinitions, v2.Spec.CustomResourceDefinitions.Owned[0].Version = "operator.v1", nil, "v2"
	e.create(v2)
	e.eventually("the new version reports what it needs", func() (bool, any) {
		explained := csvstatus.Explained(e.get("operator.v2").Status)
		return strings.Contains(explained, "stored in v2, and serves v1, v2: set served: false in it for v1"), explained
	})
	if conversion(e, crd.Name).Strategy != apiextensionsv1.WebhookConverter || len(ownedBy(e, "operator.v2")) > 0 {
		t.Error("it has become active, or ended the conversion")
	}

	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	e.succeeds("operator.v2")
	noLongerExist(e, "operator.v1")
	same(t, "the conversion strategy", conversion(e, crd.Name).Strategy, apiextensionsv1.NoneConverter)
}

// A conversion whose Deployment has another name in the new version is switched in place
// when that one is available, and back when the new version fails and is deleted.
func TestUpgradeMovesTheConversion(t *testing.T) {
	e, crd := movesTheConversion(t, "pulleys")
	e.uninstall("operator.v2")
	switchedBack(e, crd)
	for _, version := range []string{"operator.v1", "operator.v2"} {
		same(t, "the gap of "+version, webhookStatus(e, version, "v.example.com").LastGap, nil)
	}
}

// The conversion is switched back while another client keeps the deleted version.
func TestUpgradeMovesTheConversionAndIsKept(t *testing.T) {
	e, crd := movesTheConversion(t, "winches")
	addFinalizer(e, "operator.v2")
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v2", metav1.DeleteOptions{}))
	switchedBack(e, crd)
	same(t, "operator.v2 is being deleted", e.get("operator.v2").DeletionTimestamp != nil, true)
}

// movesTheConversion returns when operator.v2 has switched the conversion, and waits for another Deployment.
func movesTheConversion(t *testing.T, plural string) (e *env, crd string) {
	t.Helper()
	e = newParallelEnv(t)
	definition := newCRD(e, plural, "v1", "v2")
	crd = definition.Name
	e.group("og", operatorsv1.OperatorGroupSpec{})
	e.runDeployments("after", "last")
	e.manage()
	newObject(e, definition)
	e.install(converting("operator.v1", crd))
	convertedBy(e, crd, "server-service")

	v2 := converting("operator.v2", crd)
	v2.Spec.Replaces, v2.Spec.WebhookDefinitions[0].DeploymentName = "operator.v1", "after"
	v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{deploymentSpec("after"), deploymentSpec("last")}
	e.create(v2)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	convertedBy(e, crd, "server-service")
	setAvailable(e, "after", true)
	becomes(e, "the Service that converts", func() string { return converter(e, crd) }, "after-service")
	if e.deployment("server") == nil {
		t.Error("the old Deployment went before the new version succeeded")
	}
	return e, crd
}

func switchedBack(e *env, crd string) {
	e.Helper()
	e.succeeds("operator.v1")
	becomes(e, "the Service that converts", func() string { return converter(e, crd) }, "server-service")
}

// A conversion that a new version ended is restored when that version has failed and been
// deleted: not before the old one's pods serve, and with what they are trusted by.
func TestFailedUpgradeDropsTheConversion(t *testing.T) {
	e := newParallelEnv(t)
	crd := newCRD(e, "hinges", "v1", "v2")
	e.group("og", operatorsv1.OperatorGroupSpec{})
	m := e.manage(func(o *controller.Options) { o.Rollout.InstallTimeout = time.Second })
	e.create(converting("operator.v1", crd.Name))
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	before := conversion(e, crd.Name)

	v2 := converting("operator.v2", crd.Name)
	v2.Spec.Replaces, v2.Spec.WebhookDefinitions = "operator.v1", nil
	e.create(v2)
	rolledOut(e, "server", "operator.v2", false)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed)
	isNone := func(when string) {
		t.Helper()
		same(t, "the conversion strategy "+when, conversion(e, crd.Name).Strategy, apiextensionsv1.NoneConverter)
	}
	isNone("under a version without the webhook")

	e.uninstall("operator.v2")
	rolledOut(e, "server", "operator.v1", false)
	m.looksAgain("operator.v1")
	isNone("before anybody serves it")
	serverStarts(e)
	same(t, "the conversion", conversion(e, crd.Name), before)
}

// A conversion that the new version is asked for in another way, on the same Deployment, stays
// as it is until that is rolled out, and is switched in place; and back likewise.
func TestUpgradeChangesTheConversion(t *testing.T) {
	for name, change := range map[string]func(*operatorsv1alpha1.WebhookDescription){
		"another path":           func(d *operatorsv1alpha1.WebhookDescription) { d.WebhookPath = new("/v2/convert") },
		"another review version": func(d *operatorsv1alpha1.WebhookDescription) { d.AdmissionReviewVersions = []string{"v1", "v1beta1"} },
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			crd := newCRD(e, "cranks", "v1", "v2")
			e.group("og", operatorsv1.OperatorGroupSpec{})
			m := e.manage()
			newObject(e, crd)
			e.create(converting("operator.v1", crd.Name))
			rolledOut(e, "server", "operator.v1", true)
			e.succeeds("operator.v1")
			before := conversion(e, crd.Name)
			v2 := replacing("operator.v1", converting("operator.v2", crd.Name))
			v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec("last"))
			change(&v2.Spec.WebhookDefinitions[0])
			after := before.DeepCopy()
			after.Webhook.ClientConfig.Service.Path, after.Webhook.ConversionReviewVersions = v2.Spec.WebhookDefinitions[0].WebhookPath, v2.Spec.WebhookDefinitions[0].AdmissionReviewVersions
			is := func(want *apiextensionsv1.CustomResourceConversion, when string) {
				t.Helper()
				same(t, "the conversion "+when, conversion(e, crd.Name), want)
			}
			switchesTo := func(want *apiextensionsv1.CustomResourceConversion) {
				t.Helper()
				becomes(e, "the conversion is switched", func() *apiextensionsv1.CustomResourceConversion { return conversion(e, crd.Name) }, want)
			}

			e.create(v2)
			has(e, "server", "operator.v2")
			m.looksAgain("operator.v2")
			is(before, "while the old version's pods serve")
			setAvailable(e, "server", false)
			m.looksAgain("operator.v2")
			is(before, "before the new version's pods serve")
			setAvailable(e, "server", true)
			switchesTo(after)
			e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)

			e.uninstall("operator.v2")
			has(e, "server", "operator.v1")
			m.looksAgain("operator.v1")
			is(after, "while the new version's pods serve")
			setAvailable(e, "server", false)
			m.looksAgain("operator.v1")
			is(after, "before the old version's pods serve again")
			serverStarts(e)
			switchesTo(before)
		})
	}
}

func converter(e *env, crd string) string {
	e.Helper()
	if c := conversion(e, crd); c.Webhook != nil && len(c.Webhook.ClientConfig.CABundle) > 0 {
		return c.Webhook.ClientConfig.Service.Name
	}
	return ""
}

func convertedBy(e *env, crd, service string) {
	e.Helper()
	same(e, "the Service that converts "+crd, converter(e, crd), service)
}

// A definition that preserves unknown fields is not among the mistakes: an API server refuses to create
// one by apiextensions.k8s.io/v1, so that it can only be old. TestConvertibleCRDs has it.
func TestConversionMistakes(t *testing.T) {
	tests := map[string]struct {
		change  func(*env, *operatorsv1alpha1.ClusterServiceVersion)
		phase   operatorsv1alpha1.ClusterServiceVersionPhase
		reason  operatorsv1alpha1.ConditionReason
		message string
	}{
		"narrower install mode": {func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.InstallModes[0].Supported = true
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "support AllNamespaces only"},
		"no definition": {func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.WebhookDefinitions[0].ConversionCRDs = nil
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "without conversionCRDs"},
		"not owned": {func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.CustomResourceDefinitions.Owned = nil
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "does not list"},
		"protected": {func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.WebhookDefinitions[0].ConversionCRDs = []string{"operatorgroups.operators.coreos.com"}
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "could control the manager itself"},
		"named twice": {func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.WebhookDefinitions[0].ConversionCRDs = []string{"absent.conversion.example.com", "absent.conversion.example.com"}
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "a CustomResourceDefinition has one"},
		"the manager's own": {func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.WebhookDefinitions[0].ConversionCRDs = []string{"webhookrollouts.olm-webhook-manager.io"}
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "could control the manager itself"},
		"converted by another": {func(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
			crd, other := newCRD(e, "wheels", "v1", "v2").Name, neighbour(e)
			other.group("og", allNamespaces)
			other.runDeployments()
			other.manage()
			other.install(converting("other.v1", crd))
			c.Spec.WebhookDefinitions[0].ConversionCRDs, c.Spec.CustomResourceDefinitions.Owned[0].Name = []string{crd}, crd
		}, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict, "other.v1"},
		"absent": {func(*env, *operatorsv1alpha1.ClusterServiceVersion) {},
			operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "CRD is not present"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			e.group("og", operatorsv1.OperatorGroupSpec{})
			e.manage()
			c := converting("operator.v1", "absent.conversion.example.com")
			test.change(e, c)
			e.create(c)
			e.reachesSaying("operator.v1", test.phase, test.reason, test.message)
		})
	}
}

func converting(name, crd string) *operatorsv1alpha1.ClusterServiceVersion {
	c := csv(name, "server")
	for i := range c.Spec.InstallModes {
		c.Spec.InstallModes[i].Supported = c.Spec.InstallModes[i].Type == operatorsv1alpha1.InstallModeTypeAllNamespaces
	}
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: crd, Version: "v1", Kind: "Thing"}}
	path, d := "/convert", &c.Spec.WebhookDefinitions[0]
	d.Type, d.ConversionCRDs, d.WebhookPath, d.Rules = operatorsv1alpha1.ConversionWebhook, []string{crd}, &path, nil
	return c
}

// things is a definition of objects of any form, stored in its last version.
func things(e *env, plural string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	group := e.namespace + ".example.com"
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
		},
	}
	for i, v := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v, Served: true, Storage: i == len(versions)-1,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
		})
	}
	return crd
}

func newCRD(e *env, plural string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	crd := things(e, plural, versions...)
	created := kube.CreateTemporary(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), crd)
	e.must(kube.WaitUntilServed(e.ctx, extensions(e), crd.Name))
	return created
}

func extensions(e *env) apiextensions.Interface {
	e.Helper()
	return installtest.OrPanic(apiextensions.NewForConfig(cluster.Config()))
}

// temporaryDefinition creates a definition, and waits until it is served. The test ends when it no longer exists: until then, no
// other test can create one of its name.
func (e *env) temporaryDefinition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	definitions := e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	e.Cleanup(func() { e.must(kube.AwaitRemoval(context.Background(), definitions, crd.Name)) })
	created := kube.CreateTemporary(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), crd)
	e.must(kube.WaitUntilServed(e.ctx, extensions(e), crd.Name))
	return created
}

func conversion(e *env, crd string) *apiextensionsv1.CustomResourceConversion {
	e.Helper()
	return kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), crd).Spec.Conversion
}

func editCRD(e *env, name string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	e.Helper()
	client := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	c := kube.Get(e, client, name)
	change(c)
	_, err := client.Update(e.ctx, c, metav1.UpdateOptions{FieldManager: "administrator"})
	e.must(err)
}

// objects are those of a definition in its stored version, which nothing converts.
func objects(e *env, crd *apiextensionsv1.CustomResourceDefinition) dynamic.ResourceInterface {
	e.Helper()
	client := installtest.OrPanic(dynamic.NewForConfig(cluster.Config()))
	return client.Resource(schema.GroupVersionResource{
		Group: crd.Spec.Group, Version: crd.Spec.Versions[len(crd.Spec.Versions)-1].Name, Resource: crd.Spec.Names.Plural,
	}).Namespace(e.namespace)
}

func newObject(e *env, crd *apiextensionsv1.CustomResourceDefinition) string {
	e.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crd.Spec.Group + "/" + crd.Spec.Versions[len(crd.Spec.Versions)-1].Name, "kind": crd.Spec.Names.Kind,
		"metadata": map[string]any{"name": "one"},
	}}
	_, err := objects(e, crd).Create(e.ctx, object, metav1.CreateOptions{})
	e.must(err)
	return "one"
}
