package differential

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definition = kind{
	name: "CustomResourceDefinition", strategic: true, status: true,
	resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	base: func(name string) object {
		plural := strings.ReplaceAll(name, "-", "")
		return object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": plural + ".differential.example.com"}, "spec": object{
			"group": "differential.example.com", "scope": "Namespaced", "names": object{"plural": plural, "kind": strings.ToUpper(plural[:1]) + plural[1:]},
			"versions": []any{crdVersion("v1", true, object{"type": "object"})},
		}}
	},
	changes: []change{
		set(at("spec", "versions"),
			[]any{crdVersion("v1", true, object{"type": "object", "properties": object{"spec": object{"type": "object", "properties": object{"size": object{"type": "integer", "default": int64(1), "minimum": int64(0)}}}}})},
			[]any{crdVersion("v1", true, object{"type": "object"}), crdVersion("v2", false, object{"type": "object", "x-kubernetes-preserve-unknown-fields": true})},
			[]any{crdVersion("v1", false, object{"type": "object"})},
			[]any{crdVersion("v1", true, object{"type": "object", "properties": object{"a": object{"type": "wrong"}}})},
			[]any{crdVersion("v1", true, object{"type": "object", "x-kubernetes-validations": []any{object{"rule": "self.missing > 1"}}})},
			[]any{}),
		set(at("spec", "scope"), "Cluster", "Namespaced"),
		set(at("spec", "conversion"),
			object{"strategy": "None"}, object{"strategy": "Webhook"},
			object{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": object{"service": object{"namespace": "shop", "name": "s", "path": "/convert"}}}}, nil),
		set(at("spec", "preserveUnknownFields"), true, false),
		setStatus(at("status", "storedVersions"), []any{"v1"}, []any{"v1", "v2"}, []any{}),
	},
}

func crdVersion(name string, storage bool, openAPI object) object {
	return object{"name": name, "served": true, "storage": storage, "schema": object{"openAPIV3Schema": openAPI}, "subresources": object{"status": object{}}}
}

var csv = kind{
	name: "ClusterServiceVersion", namespaced: true, status: true,
	resource: schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"},
	base: func(name string) object {
		return object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": object{"name": name}, "spec": object{
			"displayName": "Shop", "install": object{"strategy": "deployment", "spec": object{"deployments": []any{
				object{"name": "a", "spec": object{"selector": object{"matchLabels": object{"app": "a"}}, "template": object{"metadata": object{"labels": object{"app": "a"}}, "spec": object{"containers": []any{object{"name": "main", "image": "i"}}}}}},
			}}},
		}}
	},
	changes: []change{
		set(at("spec", "displayName"), "Market", nil, int64(3)),
		set(at("spec", "version"), "1.2.3", "not a version", nil),
		set(at("spec", "unknown"), "pruned", nil),
		set(at("spec", "replaces"), "shop.v0", nil),
		set(at("spec", "webhookdefinitions"),
			[]any{object{"type": "ValidatingAdmissionWebhook", "generateName": "v.example.com", "deploymentName": "a", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "containerPort": int64(443)}},
			[]any{object{"type": "Wrong", "generateName": "v.example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None"}},
			[]any{object{"generateName": "v.example.com", "containerPort": int64(99999)}}, nil),
		set(at("spec", "installModes"), []any{object{"type": "AllNamespaces", "supported": true}}, []any{object{"type": "AllNamespaces"}}, nil),
		setStatus(at("status", "phase"), "Pending", "Succeeded", int64(1)),
		setStatus(at("status", "message"), "text", nil),
		setStatus(at("status", "lastUpdateTime"), "2026-01-02T03:04:05Z", "yesterday"),
	},
}

var rollout = kind{
	name: "WebhookRollout", namespaced: true, status: true,
	resource: schema.GroupVersionResource{Group: "olm-webhook-manager.io", Version: "v1alpha1", Resource: "webhookrollouts"},
	base: func(name string) object {
		return object{"apiVersion": "olm-webhook-manager.io/v1alpha1", "kind": "WebhookRollout", "metadata": object{"name": name}}
	},
	changes: []change{
		set(at("unknown"), "field", nil),
		setStatus(at("status", "provider"), "self", "cert-manager", nil),
		setStatus(at("status", "registrations"), int64(1), int64(2)),
		setStatus(at("status", "observedGeneration"), int64(1), int64(2), "one"),
		setStatus(at("status", "deployments"),
			[]any{object{"name": "a", "state": "Ready"}}, []any{object{"name": "a", "state": "Waiting"}, object{"name": "b", "state": "Ready"}},
			[]any{object{"name": "a", "state": "Ready"}, object{"name": "a", "state": "Ready"}}, []any{object{"name": "a"}}),
		setStatus(at("status", "created"), []any{object{"kind": "Secret", "name": "a", "uid": "1"}}, []any{}),
		setStatus(at("status", "conditions"),
			[]any{object{"type": "Ready", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
			[]any{object{"type": "Ready", "status": "False", "reason": "Why", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"}, object{"type": "More", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
			[]any{object{"type": "Ready", "status": "Perhaps"}}, nil),
		setStatus(at("status", "unknown"), "pruned"),
	},
}
