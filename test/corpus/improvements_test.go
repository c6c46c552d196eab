package corpus

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// improvement is a required difference from OLM v0: it changes an object of OLM v0 into that of the manager, and
// reports whether the object differs so. docs/admin/compatibility.md lists each by its name.
type improvement struct {
	name string
	make func(want, got *unstructured.Unstructured, b bundle) bool
}

// began is when the first certificate may have been made, in the whole seconds of annotations.
var began = time.Now().Truncate(time.Second)

var improvements = []improvement{
	{"owner labels of Services and Secrets", func(want, _ *unstructured.Unstructured, b bundle) bool {
		if want.GetKind() != "Service" && want.GetKind() != "Secret" {
			return false
		}
		want.SetLabels(with(want.GetLabels(), map[string]string{
			"olm.owner": b.csv.Name, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": want.GetNamespace(),
		}))
		return true
	}},
	{"state of a rotation in the Secret", func(want, got *unstructured.Unstructured, _ bundle) bool {
		const leaf, updated = "olm-webhook-manager.io/certificate-fingerprint", "olm-webhook-manager.io/certificate-updated-at"
		hash, since := got.GetAnnotations()[leaf], got.GetAnnotations()[updated]
		if at, err := time.Parse(time.RFC3339, since); want.GetKind() != "Secret" || len(hash) != 64 || err != nil || at.Before(began) || at.After(time.Now()) {
			return false
		}
		want.SetAnnotations(with(want.GetAnnotations(), map[string]string{
			"olm-webhook-manager.io/certificate-generation": "1", "olm-webhook-manager.io/certificate-provider": "manager", leaf: hash, updated: since,
		}))
		return true
	}},
	{"ca.crt in the Secret", func(want, _ *unstructured.Unstructured, _ bundle) bool {
		return want.GetKind() == "Secret" && unstructured.SetNestedField(want.Object, "", "data", "ca.crt") == nil
	}},
	{"ca.crt next to tls.crt and tls.key", func(want, _ *unstructured.Unstructured, _ bundle) bool {
		mounted := false
		for _, v := range volumes(want) {
			if name := v["name"]; name == "apiservice-cert" || name == "webhook-cert" {
				items, _, _ := unstructured.NestedSlice(v, "secret", "items")
				mounted = unstructured.SetNestedSlice(v, append(items, map[string]any{"key": "ca.crt", "path": "ca.crt"}), "secret", "items") == nil
			}
		}
		return mounted
	}},
	{"volumes that nothing mounts any more", func(want, _ *unstructured.Unstructured, b bundle) bool {
		kept := slices.DeleteFunc(slices.Clone(volumes(want)), func(v map[string]any) bool {
			return !mounts(want, v["name"]) && b.servesFrom(want.GetName(), v["name"])
		})
		if len(kept) == len(volumes(want)) {
			return false
		}
		setVolumes(want, kept)
		return true
	}},
	{"certificates in both places of every container", func(want, got *unstructured.Unstructured, _ bundle) bool {
		added := false
		for i, container := range itemsOf(podOf(want)["containers"]) {
			mounted := itemsOf(itemsOf(podOf(got)["containers"])[i]["volumeMounts"])
			lacking := slices.DeleteFunc(slices.Clone(mounted), func(m map[string]any) bool {
				added := slices.ContainsFunc(certificateMounts, func(c map[string]any) bool { return reflect.DeepEqual(c, m) })
				return added && !mountsIn(container, m["name"])
			})
			if len(lacking) < len(mounted) && reflect.DeepEqual(lacking, itemsOf(container["volumeMounts"])) {
				container["volumeMounts"], added = listOf(mounted), true
			}
		}
		return added
	}},
	{"times that YAML reads as such", func(want, _ *unstructured.Unstructured, b bundle) bool {
		const written = "createdAt"
		field := []string{"spec", "template", "metadata", "annotations", written}
		recorded, _, _ := unstructured.NestedString(want.Object, field...)
		declared := b.csv.Annotations[written]
		if recorded == declared || strings.NewReplacer(" ", "T", "+00:00", "Z").Replace(recorded) != declared {
			return false
		}
		return unstructured.SetNestedField(want.Object, declared, field...) == nil
	}},
	{"label of managed pods", func(want, _ *unstructured.Unstructured, b bundle) bool {
		return want.GetKind() == "Deployment" &&
			unstructured.SetNestedField(want.Object, b.csv.Name, "spec", "template", "metadata", "labels", "olm-webhook-manager.io/csv") == nil
	}},
	{"replicas as they were declared", func(want, _ *unstructured.Unstructured, _ bundle) bool {
		if want.GetKind() != "Deployment" {
			return false
		}
		replicas, _, _ := unstructured.NestedFieldNoCopy(want.Object, "spec", "replicas")
		want.SetAnnotations(with(want.GetAnnotations(), map[string]string{"olm-webhook-manager.io/replicas": text(replicas)}))
		return true
	}},
	{"generation of the trust", func(want, _ *unstructured.Unstructured, _ bundle) bool {
		if !strings.HasSuffix(want.GetKind(), "WebhookConfiguration") {
			return false
		}
		want.SetAnnotations(with(want.GetAnnotations(), map[string]string{"olm-webhook-manager.io/certificate-generation": "1"}))
		return true
	}},
	{"matchConditions of webhooks that could stop themselves", func(want, got *unstructured.Unstructured, b bundle) bool {
		w := firstWebhook(got)
		exempted, couldStop := exemptions[b.csv.Name+" "+text(w["name"])]
		if !couldStop || !slices.EqualFunc(exempted, itemsOf(w["matchConditions"]), exemption.is) {
			return false
		}
		firstWebhook(want)["matchConditions"] = w["matchConditions"]
		return true
	}},
	{"no ServiceAccount where none is named", func(want, got *unstructured.Unstructured, _ bundle) bool {
		account, _, _ := unstructured.NestedString(want.Object, "spec", "template", "spec", "serviceAccountName")
		if _, named, _ := unstructured.NestedString(got.Object, "spec", "template", "spec", "serviceAccountName"); named || account != "default" {
			return false
		}
		unstructured.RemoveNestedField(want.Object, "spec", "template", "spec", "serviceAccountName")
		unstructured.RemoveNestedField(want.Object, "spec", "template", "spec", "serviceAccount")
		return true
	}},
}

// certificateMounts are the two places, as OLM v0 mounts them.
var certificateMounts = []map[string]any{
	{"name": "apiservice-cert", "mountPath": "/apiserver.local.config/certificates"},
	{"name": "webhook-cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"},
}

// exemption is a matchCondition by its name and by the beginning of its expression. TestConditions of pkg/install and
// TestSelfDeadlock of test/integration test who may send the exempted requests.
type exemption struct{ name, about string }

func (e exemption) is(condition map[string]any) bool {
	return condition["name"] == "olm-webhook-manager.io/"+e.name && strings.HasPrefix(text(condition["expression"]), e.about)
}

// exemptions are the matchConditions of the webhooks that could stop themselves.
var exemptions = map[string][]exemption{
	"cert-manager.v1.16.5 validate.webhooks.cert-manager.io": {
		{"own-orders", `!(has(request.namespace) && request.namespace == "op-cert-manager" && ` +
			`(request.resource.group == "cert-manager.io" && request.resource.resource in ["certificates", "issuers"]) && ` +
			`(has(request.name) && request.name in ["cert-manager-webhook-service-cert", "cert-manager-webhook-service-ca", "cert-manager-webhook-service-selfsigned"]) && ` +
			`(has(request.userInfo.username) && `},
	},
	"marin3r.v0.13.1 sidecar-injector.marin3r.3scale.net": {
		{"own-pods", `!(has(request.namespace) && request.namespace == "op-marin3r" && ` +
			`(request.resource.group == "" && request.resource.resource in ["pods", "bindings"]) && ` +
			`(([oldObject, object].exists(o, o != null && has(o.metadata) && has(o.metadata.ownerReferences) && ` +
			`o.metadata.ownerReferences.exists(r, has(r.controller) && r.controller && r.kind == "ReplicaSet" && r.name.matches("^(marin3r-controller-webhook)-[a-z0-9]{1,10}$")))) || ` +
			`((request.resource.resource == "bindings" || has(request.subResource) && request.subResource in ["binding", "eviction"]) && ` +
			`has(request.name) && request.name.matches("^(marin3r-controller-webhook)-[a-z0-9]{1,10}-[a-z0-9]{5}$"))) && ` +
			`(((has(request.userInfo.username) && `},
		{"system-workloads", `!(has(request.namespace) && request.namespace == "kube-system" && ` +
			`((request.resource.group == "" && request.resource.resource in ["pods", "bindings", "endpoints", "configmaps", "serviceaccounts", "resourcequotas"]) || ` +
			`(request.resource.group == "apps" && request.resource.resource in ["replicasets", "controllerrevisions"]) || ` +
			`(request.resource.group == "discovery.k8s.io" && request.resource.resource == "endpointslices")) && ` +
			`((has(request.userInfo.username) && `},
	},
}

// beyond are the Deployments of a bundle that OLM v0 had not got to when its pods did not start.
const beyond = "Deployments that OLM v0 had not got to"

// unreached are they, by the ClusterServiceVersion. No webhook is theirs, so they are to have no certificate.
var unreached = map[string][]string{
	"kubevirt-hyperconverged-operator.v1.18.1": {"aaq-operator", "kubevirt-migration-operator", "inflightoperations-controller-manager", "virt-platform-autopilot"},
}

// improve makes of what OLM v0 left what the manager has to leave, and notes which improvements it took.
func (r results) improve(got results, b bundle, taken map[string]bool) {
	for _, name := range unreached[b.csv.Name] {
		key := "Deployment " + name
		made := &unstructured.Unstructured{Object: got[key]}
		if r[key] == nil && got[key] != nil && !hasVolume(made, "apiservice-cert") && !hasVolume(made, "webhook-cert") {
			delete(got, key)
			taken[beyond] = true
		}
	}
	for key, object := range r {
		want, made := &unstructured.Unstructured{Object: object}, &unstructured.Unstructured{Object: got[key]}
		if got[key] == nil || want.GetKind() == "" {
			continue // a conversion differs in nothing
		}
		for _, i := range improvements {
			if i.make(want, made, b) {
				taken[i.name] = true
			}
		}
	}
}

// documented fails for an improvement that no bundle shows, and for one that docs/admin/compatibility.md does not name.
func documented(t *testing.T, taken map[string]bool) {
	t.Helper()
	page, err := os.ReadFile("../../docs/admin/compatibility.md")
	must(t, err)
	names := []string{beyond}
	for _, i := range improvements {
		names = append(names, i.name)
	}
	for _, name := range names {
		if !taken[name] {
			t.Errorf("no bundle differs in %q", name)
		}
		if !strings.Contains(string(page), "| "+name+" |") {
			t.Errorf("docs/admin/compatibility.md does not name %q", name)
		}
	}
}

func with(some, more map[string]string) map[string]string {
	both := maps.Clone(some)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, more)
	return both
}

func firstWebhook(o *unstructured.Unstructured) map[string]any {
	webhooks, _ := o.Object["webhooks"].([]any)
	if len(webhooks) == 0 {
		return nil
	}
	return webhooks[0].(map[string]any)
}

// podOf is the pod's spec of a Deployment; nil of anything else.
func podOf(o *unstructured.Unstructured) map[string]any {
	pod, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "spec")
	spec, _ := pod.(map[string]any)
	return spec
}

// volumes are those of a Deployment, themselves and no copies.
func volumes(o *unstructured.Unstructured) []map[string]any { return itemsOf(podOf(o)["volumes"]) }

func setVolumes(o *unstructured.Unstructured, kept []map[string]any) {
	podOf(o)["volumes"] = listOf(kept)
}

func hasVolume(o *unstructured.Unstructured, name any) bool {
	return slices.ContainsFunc(volumes(o), func(v map[string]any) bool { return v["name"] == name })
}

func mounts(o *unstructured.Unstructured, volume any) bool {
	containers := slices.Concat(itemsOf(podOf(o)["containers"]), itemsOf(podOf(o)["initContainers"]))
	return slices.ContainsFunc(containers, func(container map[string]any) bool { return mountsIn(container, volume) })
}

func mountsIn(container map[string]any, volume any) bool {
	return slices.ContainsFunc(itemsOf(container["volumeMounts"]), func(m map[string]any) bool { return m["name"] == volume })
}

func itemsOf(list any) []map[string]any {
	items, _ := list.([]any)
	all := make([]map[string]any, 0, len(items))
	for _, item := range items {
		all = append(all, item.(map[string]any))
	}
	return all
}

func listOf(items []map[string]any) []any {
	all := make([]any, 0, len(items))
	for _, item := range items {
		all = append(all, item)
	}
	return all
}

func text(value any) string { return fmt.Sprint(value) }
