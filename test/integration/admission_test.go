package integration

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What admission changes in the manager's writes is accepted: the image, a toleration, labels and resources. It holds
// for an installation, a restart, an upgrade, and the removal of the policy.
func TestChangedByAdmission(t *testing.T) {
	e := operating(newEnv(t), allNamespaces) // it waits until the manager rests
	removePolicy := mutate(e, []string{"deployments"},
		`JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror.example.com/" + object.spec.template.spec.containers[0].image.replace("mirror.example.com/", "")}`,
		`JSONPatch{op: "add", path: "/spec/template/spec/tolerations", value: [{"key": "platform", "operator": "Exists"}]}`)
	mutate(e, []string{"*"}, mark)
	mutatingWebhook(e, "resources.example.com", []map[string]any{
		{"op": "add", "path": "/spec/template/spec/containers/0/resources", "value": map[string]any{"requests": map[string]string{"cpu": "50m"}}},
	})
	m := e.manage()
	v1 := csv("operator.v1", "server")
	container(v1).Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	e.install(v1)
	m.changedByAdmission("operator.v1", "image", "resources.requests.cpu")
	runs(e, "mirror.example.com/example.com/server:1")
	m.restsWithoutWriting("operator.v1", "mirror")

	before := e.deployment("server").Generation
	_, err := e.kube.AppsV1().Deployments(e.namespace).Patch(e.ctx, "server", types.StrategicMergePatchType,
		[]byte(`{"spec": {"template": {"spec": {"containers": [{"name": "server", "image": "example.com/other:1"}]}}}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	e.must(err)
	e.eventually("what another client changed is repaired", func() (bool, any) {
		d := e.deployment("server")
		return d.Generation > before+1 && d.Spec.Template.Spec.Containers[0].Image == "mirror.example.com/example.com/server:1", d.Spec.Template.Spec.Containers[0].Image
	})
	m.restsWithoutWriting("operator.v1", "repair")

	m.stop()
	m = e.manage()
	m.looksAgain("operator.v1")
	none(t, "writes of a new manager", m.writesForReal(m.started))
	m.changedByAdmission("operator.v1", "image")

	v2 := replacing("operator.v1", csv("operator.v2", "server"))
	container(v2).Image = "example.com/server:2"
	container(v2).Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	e.install(v2)
	runs(e, "mirror.example.com/example.com/server:2")
	m.changedByAdmission("operator.v2", "image", "resources.requests.cpu")
	m.restsWithoutWriting("operator.v2", "upgrade")

	removePolicy()
	m.restsWithoutWriting("operator.v2", "removal of the policy")
	e.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) { container(c).Image = "example.com/server:3" })
	runs(e, "example.com/server:3")
	m.rests()
	if c := meta.FindStatusCondition(e.rollout("operator.v2").Conditions, "ChangedByAdmission"); c == nil || strings.Contains(c.Message, "image") {
		t.Errorf("condition %+v, want one about resources alone", c)
	}
	m.restsWithoutWriting("operator.v2", "another image")
}

// Changes of routing, trust and permissions are not accepted, and not repaired without limit.
func TestNeverAcceptedFromAdmission(t *testing.T) {
	for name, test := range map[string]struct {
		resource, patch string
		field           string
	}{
		"selector of a Service": {"services", `JSONPatch{op: "replace", path: "/spec/selector", value: {"app": "other"}}`, "spec.selector"},
		"rule of a Role":        {"roles", `JSONPatch{op: "replace", path: "/rules/0/verbs", value: ["get", "update"]}`, "rules"},
		"subjects of a RoleBinding": {"rolebindings",
			`JSONPatch{op: "add", path: "/subjects/-", value: {"kind": "ServiceAccount", "name": "default", "namespace": "default"}}`, "subjects"},
		"data of a Secret": {"secrets", `JSONPatch{op: "replace", path: "/data/ca.crt", value: ""}`, "data"},
		"Service of a definition": {"customresourcedefinitions",
			`JSONPatch{op: "add", path: has(object.spec.conversion.webhook) ? "/spec/conversion/webhook/clientConfig/service/name" : "/metadata/annotations/other", value: "other"}`,
			"spec.conversion.webhook.clientConfig.service.name"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			c := csv("operator.v1", "server")
			if test.resource == "customresourcedefinitions" {
				c = converting("operator.v1", newCRD(e, "axles", "v1", "v2").Name)
			}
			mutate(e, []string{test.resource}, test.patch)
			m := e.manage()
			since := auditEnd(e)
			e.create(c)
			e.isContested("operator.v1", "admission keeps changing "+test.field)
			m.looksAgain("operator.v1")
			all := m.writesForReal(since)
			if test.resource == "roles" && slices.ContainsFunc(all, func(w string) bool { return strings.Contains(w, " rolebindings ") }) {
				t.Errorf("the changed Role is bound:\n%s", strings.Join(all, "\n"))
			}
			if test.resource == "rolebindings" {
				installtest.Same(t, "RoleBindings while it is contested", 0, len(kube.List(e, e.kube.RbacV1().RoleBindings(e.namespace), metav1.ListOptions{}).Items))
			}
			writes := slices.DeleteFunc(all, func(w string) bool {
				return !strings.Contains(w, " "+test.resource+" ") || !strings.Contains(w, "server") && test.resource != "customresourcedefinitions" || strings.HasPrefix(w, "delete")
			})
			if len(writes) > 4 {
				t.Errorf("%d writes:\n%s", len(writes), strings.Join(writes, "\n"))
			}
		})
	}
}

// An APIService for which admission names another Service is not proven to be the manager's any more.
func TestServiceOfAPIServiceChangedByAdmission(t *testing.T) {
	e := newOperatorEnv(t)
	a := playAPI(e)
	mutate(e, []string{"apiservices"}, `JSONPatch{op: "replace", path: "/spec/service/name", value: "other"}`)
	m := e.manage()
	since := auditEnd(e)
	e.create(a.csv("operator.v1"))
	a.start()
	e.eventually("the APIService is reported", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "Ready")
		return c != nil && strings.Contains(c.Message, fmt.Sprintf("sends requests to Service %s/other, which is not its own: delete the APIService first", e.namespace)), c
	})
	m.looksAgain("operator.v1")
	writes := inWords(slices.DeleteFunc(kube.Writes(m.audited(since), m.userAgent), func(w auditv1.Event) bool {
		return w.ObjectRef.Resource != "apiservices" || w.ResponseStatus.Code == http.StatusConflict
	}))
	same(t, "writes of APIServices", writes, []string{"create apiservices " + a.name()})
}

func TestNamespaceLabelTakenBackByAdmission(t *testing.T) {
	e := newParallelEnv(t)
	target := newNamespace(e, "", map[string]string{"protected": e.namespace})
	match := matching([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, []string{""}, "namespaces")
	match.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"protected": e.namespace}}
	addMutatingPolicy(e, "label-"+e.namespace, admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: match, Mutations: jsonPatch(`[JSONPatch{op: "replace", path: "/metadata/labels", value: oldObject.metadata.labels}]`),
	})
	e.eventually("the policy works", func() (bool, any) {
		ns, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, target, types.MergePatchType, []byte(`{"metadata": {"labels": {"probe": "yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && ns.Labels["probe"] == "", err
	})
	e.group("og", namespaces(target))
	m := e.manage()
	since := auditEnd(e)
	e.eventually("the OperatorGroup reports which Namespace is refused", func() (bool, any) {
		c := meta.FindStatusCondition(groupStatus(e, "og").Conditions, scope.ConditionLabelRefused)
		return c != nil && strings.Contains(c.Message, target) && strings.Contains(c.Message, "admission takes back the change"), c
	})
	if writes := slices.DeleteFunc(m.writes(since), func(w string) bool { return !strings.HasSuffix(w, target) }); len(writes) == 0 || len(writes) > 12 {
		t.Errorf("%d writes:\n%s", len(writes), strings.Join(writes, "\n"))
	}
}

// Clients that write their own caBundle into a definition are reported, and not fought without limit.
func TestContestOfCABundles(t *testing.T) {
	for name, clients := range map[string][]string{"one client": {"cainjector"}, "two clients": {"cainjector", "other"}} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			crd := newCRD(e, "wheels", "v1", "v2")
			m := e.manage()
			e.install(converting("operator.v1", crd.Name))
			since := auditEnd(e)
			inject(e, crd.Name, clients...)
			var texts []string
			for _, client := range clients {
				texts = append(texts, fmt.Sprintf(`CustomResourceDefinition %s: field manager %q keeps changing spec.conversion.webhook.clientConfig.caBundle back`, crd.Name, client))
			}
			e.isContested("operator.v1", texts...)
			e.eventually("the definition is reported as lost: its calls fail", func() (bool, any) {
				c := rotation(e)
				return slices.Equal(c.LostRegistrations, []string{"CustomResourceDefinition " + crd.Name}) &&
					strings.Contains(c.Message, "it does not trust the certificate that pods are given") && strings.Contains(c.Message, clients[0]), c
			})
			m.emits("Warning RegistrationLost")
			m.looksAgain("operator.v1")
			repairs := slices.DeleteFunc(m.writes(since), func(w string) bool { return !strings.HasSuffix(w, crd.Name) })
			if len(repairs) > 4*len(clients) {
				t.Errorf("repaired %d times:\n%s", len(repairs), strings.Join(repairs, "\n"))
			}
		})
	}
}

const mark = `JSONPatch{op: "add", path: "/metadata/annotations", value: has(object.metadata.annotations) ? object.metadata.annotations : {}},
JSONPatch{op: "add", path: "/metadata/annotations/platform.example.com~1seen", value: "yes"},
JSONPatch{op: "add", path: "/metadata/labels", value: has(object.metadata.labels) ? object.metadata.labels : {}},
JSONPatch{op: "add", path: "/metadata/labels/platform.example.com~1seen", value: "yes"}`

// mutate adds a MutatingAdmissionPolicy for the manager's objects of some resources, and waits until it works.
func mutate(e *env, resources []string, patches ...string) (remove func()) {
	e.Helper()
	if resources[0] != "*" {
		resources = append(slices.Clone(resources), "configmaps")
	}
	name := e.namespace + "-" + strings.ReplaceAll(resources[0], "*", "all")
	remove = addMutatingPolicy(e, name, admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: matching([]admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			[]string{"", "apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}, resources...),
		MatchConditions: []admissionregistrationv1.MatchCondition{
			{Name: "ours", Expression: fmt.Sprintf(`object.metadata.?namespace.orValue("") == %q || object.metadata.?name.orValue("").endsWith(%q)`, e.namespace, e.namespace+".example.com")},
			{Name: "managed", Expression: `request.resource.resource in ["configmaps", "customresourcedefinitions", "apiservices"] || object.metadata.?labels[?"olm.managed"].orValue("") == "true"`},
		},
		Mutations: jsonPatch(`request.resource.resource == "configmaps" ? [JSONPatch{op: "add", path: "/data", value: {"policy": "works"}}] : [` + strings.Join(patches, ",\n") + "]"),
	})
	e.eventually("policy "+name+" works", func() (bool, any) {
		data, err := e.probe()
		return data["policy"] == "works", err
	})
	return remove
}

// probe is what admission makes of a ConfigMap.
func (e *env) probe() (map[string]string, error) {
	created, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(e.ctx, &corev1.ConfigMap{ObjectMeta: named("probe")}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, err
	}
	return created.Data, nil
}

func mutatingWebhook(e *env, name string, patch []map[string]any) {
	e.Helper()
	listener := installtest.OrPanic(net.Listen("tcp4", "127.0.0.1:0"))
	generation := unusedCA(e, "localhost")
	certificate := installtest.OrPanic(tls.X509KeyPair(generation.Certificate, generation.Key))
	text := installtest.OrPanic(json.Marshal(patch))
	answer(e, listener, certificate, func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: text, PatchType: new(admissionv1.PatchTypeJSONPatch)}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // an API server that hears nothing reports it
	})
	configurations := e.kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named(e.namespace + "-" + name), Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: name, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, FailurePolicy: new(admissionregistrationv1.Fail),
		ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d/mutate", listener.Addr().(*net.TCPAddr).Port)), CABundle: generation.CA},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}},
	}}}
	kube.CreateTemporary(e, configurations, configuration)
}

func unusedCA(e *env, name string) certs.Generation {
	e.Helper()
	return installtest.OrPanic(certs.Mint(certs.Request{Number: 1, Names: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}))
}

// inject has clients write their own caBundle into a definition whenever a client writes another one:
// one after another.
func inject(e *env, crd string, clients ...string) {
	e.Helper()
	definitions := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	bundle := unusedCA(e, "other.example.com").CA
	others := installtest.OrPanic(json.Marshal(bundle))
	w := kube.Watch(e, definitions, metav1.ListOptions{FieldSelector: "metadata.name=" + crd, SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	go func() {
		turn := 0
		for event := range w.ResultChan() {
			c, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition)
			if !ok || c.Spec.Conversion.Webhook == nil || bytes.Equal(c.Spec.Conversion.Webhook.ClientConfig.CABundle, bundle) {
				continue
			}
			_, err := definitions.Patch(e.ctx, crd, types.MergePatchType, fmt.Appendf(nil, `{"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": %s}}}}}`, others),
				metav1.PatchOptions{FieldManager: clients[turn%len(clients)]})
			if turn++; err != nil && e.ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				e.Errorf("the other client: %v", err)
			}
		}
	}()
}

func runs(e *env, image string) {
	e.Helper()
	becomes(e, "the server runs "+image, func() string { return e.deployment("server").Spec.Template.Spec.Containers[0].Image }, image)
}

func (m *manager) changedByAdmission(csv string, fields ...string) {
	m.Helper()
	m.eventually("the condition names what admission changed", func() (bool, any) {
		conditions := m.rollout(csv).Conditions
		c := meta.FindStatusCondition(conditions, "ChangedByAdmission")
		if c == nil || !strings.HasPrefix(c.Message, "Deployment "+m.namespace+"/server: ") || !strings.Contains(c.Message, " changed by admission") {
			return false, conditions
		}
		return !slices.ContainsFunc(fields, func(field string) bool { return !strings.Contains(c.Message, field) }), conditions
	})
}

// restsWithoutWriting fails when the manager continues to write, independent of what triggers its reconciliation.
func (m *manager) restsWithoutWriting(csv, after string) {
	m.Helper()
	m.rests()
	m.succeeds(csv)
	since := auditEnd(m.env)
	m.looksAgain(csv)
	none(m, "writes of the manager after "+after, m.writes(since))
}

func (m *manager) writesForReal(since int64) []string {
	m.Helper()
	return inWords(slices.DeleteFunc(kube.Writes(m.audited(since), m.userAgent), func(e auditv1.Event) bool { return strings.Contains(e.RequestURI, "dryRun=All") }))
}
