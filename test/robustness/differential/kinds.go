package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is the content of an unstructured object.
type object = map[string]any

// kind is a kind of objects, and which changes a sequence makes to them.
type kind struct {
	name       string
	resource   schema.GroupVersionResource
	namespaced bool
	strategic  bool // strategic merge patches are supported
	status     bool // has the subresource status
	scale      bool // has the subresource scale
	base       func(name string) object
	changes    []change
}

// change sets a field to one of some values, valid or not. A nil value removes the field.
type change struct {
	path   []string
	values []any
	status bool // a field of the status
}

func set(path []string, values ...any) change { return change{path: path, values: values} }

func setStatus(path []string, values ...any) change {
	return change{path: path, values: values, status: true}
}

func at(path ...string) []string { return path }

// metadata are changes of every kind.
var metadata = []change{
	set(at("metadata", "labels", "tier"), "a", "b", nil),
	set(at("metadata", "annotations", "note"), "x", "y", nil),
	set(at("metadata", "labels", "bad"), "not a label!", nil),
	set(at("metadata", "finalizers"), []any{"example.com/hold"}, []any{}, []any{"example.com/hold", "example.com/more"}, nil),
	set(at("metadata", "ownerReferences"), []any{object{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "11111111-2222-3333-4444-555555555555"}}, nil),
}

var kinds = []kind{secret, service, deployment, webhooks, definition, csv, rollout}

var secret = kind{
	name: "Secret", resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, namespaced: true, strategic: true,
	base: func(name string) object {
		return object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": name}, "type": "kubernetes.io/tls", "data": object{"tls.crt": "YQ==", "tls.key": "Yg=="}}
	},
	changes: []change{
		set(at("data", "ca.crt"), "Yw==", "ZA==", nil),
		set(at("data", "tls.crt"), "ZQ==", nil),
		set(at("data", "bad key"), "ZQ==", nil),
		set(at("stringData", "plain"), "text"),
		set(at("type"), "Opaque", "kubernetes.io/tls"),
		set(at("immutable"), true, nil),
		set(at("unknown"), "field", nil),
	},
}

var service = kind{
	name: "Service", resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, namespaced: true, strategic: true, status: true,
	base: func(name string) object {
		return object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name}, "spec": object{
			"selector": object{"app": "a"}, "ports": []any{object{"name": "https", "port": int64(443), "targetPort": int64(9443)}},
		}}
	},
	changes: []change{
		set(at("spec", "selector", "app"), "b", "c", nil),
		set(at("spec", "ports"),
			[]any{object{"name": "https", "port": int64(443)}},
			[]any{object{"name": "https", "port": int64(443), "targetPort": "web"}, object{"name": "extra", "port": int64(8443), "protocol": "TCP"}},
			[]any{object{"port": int64(443)}, object{"port": int64(444)}}, []any{}),
		set(at("spec", "type"), "ClusterIP", "NodePort", "ExternalName", "Wrong"),
		set(at("spec", "sessionAffinity"), "ClientIP", "None"),
		set(at("spec", "publishNotReadyAddresses"), true, nil),
		setStatus(at("status", "loadBalancer"), object{"ingress": []any{object{"ip": "192.0.2.1"}}}, object{}),
	},
}

var deployment = kind{
	name: "Deployment", resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, namespaced: true, strategic: true, status: true, scale: true,
	base: func(name string) object {
		return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name}, "spec": object{
			"selector": object{"matchLabels": object{"app": "a"}},
			"template": object{"metadata": object{"labels": object{"app": "a"}}, "spec": object{"containers": []any{object{"name": "main", "image": "example.com/main:1"}}}},
		}}
	},
	changes: []change{
		set(at("spec", "replicas"), int64(1), int64(2), int64(0), int64(-1), nil),
		set(at("spec", "selector", "matchLabels", "app"), "a", "b"),
		set(at("spec", "template", "metadata", "labels", "extra"), "x", nil),
		set(at("spec", "template", "spec", "containers"),
			[]any{object{"name": "main", "image": "example.com/main:2", "env": []any{object{"name": "A", "value": "1"}}}},
			[]any{object{"name": "main", "image": "example.com/main:2", "ports": []any{object{"containerPort": int64(9443)}}}, object{"name": "side", "image": "example.com/side:1"}},
			[]any{object{"name": "main"}}, []any{}),
		set(at("spec", "template", "spec", "volumes"), []any{object{"name": "cert", "secret": object{"secretName": "cert"}}}, nil),
		set(at("spec", "strategy"), object{"type": "Recreate"}, object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": "50%"}}, object{"type": "Recreate", "rollingUpdate": object{"maxSurge": int64(1)}}),
		set(at("spec", "paused"), true, nil),
		setStatus(at("status", "replicas"), int64(1), int64(2)),
		setStatus(at("status", "observedGeneration"), int64(1), int64(-1)),
		setStatus(at("status", "conditions"), []any{object{"type": "Available", "status": "True"}}, []any{object{"type": "Available", "status": "False", "reason": "Why"}, object{"type": "Progressing", "status": "True"}}),
	},
}

var webhooks = kind{
	name: "ValidatingWebhookConfiguration", strategic: true,
	resource: schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	base: func(name string) object {
		return object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": object{"name": name}, "webhooks": []any{hook("v.example.com", nil)}}
	},
	changes: []change{
		set(at("webhooks"),
			[]any{hook("v.example.com", object{"failurePolicy": "Ignore"})},
			[]any{hook("v.example.com", object{"timeoutSeconds": int64(5)}), hook("w.example.com", nil)},
			[]any{hook("v.example.com", object{"timeoutSeconds": int64(31)})},
			[]any{hook("v.example.com", object{"sideEffects": "Some"})},
			[]any{hook("v.example.com", object{"matchConditions": []any{object{"name": "c", "expression": "request.userInfo.username != 'a'"}}})},
			[]any{hook("v.example.com", object{"matchConditions": []any{object{"name": "c", "expression": "wrong("}}})},
			[]any{hook("v.example.com", object{"clientConfig": object{"service": object{"namespace": "shop", "name": "s", "path": "no-slash"}}})},
			[]any{hook("short", nil)}, []any{}, nil),
	},
}

func hook(name string, more object) object {
	h := object{
		"name": name, "admissionReviewVersions": []any{"v1"}, "sideEffects": "None",
		"clientConfig": object{"service": object{"namespace": "shop", "name": "s", "path": "/validate"}, "caBundle": ""},
		"rules":        []any{object{"operations": []any{"CREATE"}, "apiGroups": []any{"other.example.com"}, "apiVersions": []any{"v1"}, "resources": []any{"things"}}},
	}
	for k, v := range more {
		h[k] = v
	}
	return h
}
