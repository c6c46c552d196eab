package lint

import (
	"slices"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What a pod waits for is found wherever a volume may name it, and nothing else is.
func TestMissingSecretSaysWhere(t *testing.T) {
	const pod = "spec.install.spec.deployments[0].spec.template.spec."
	secret := func(name string) map[string]any { return map[string]any{"secret": map[string]any{"name": name}} }
	projected := func(references ...any) map[string]any {
		return map[string]any{"name": "v", "projected": map[string]any{"sources": list(references...)}}
	}
	for name, test := range map[string]struct {
		volume map[string]any
		path   string
		want   []string
	}{
		"a Secret": {map[string]any{"name": "v", "secret": map[string]any{"secretName": "issued"}}, "/tls", []string{pod + "volumes[0]"}},
		"the second source of a projected volume": {projected(map[string]any{"configMap": map[string]any{"name": "kube-root-ca.crt"}}, secret("issued")), "/tls", []string{pod + "volumes[0].projected.sources[1]"}},
		"an optional source":                      {projected(map[string]any{"secret": map[string]any{"name": "issued", "optional": true}}), "/tls", nil},
		"a token and the pod's own fields":        {projected(map[string]any{"serviceAccountToken": map[string]any{"path": "token"}}, map[string]any{"downwardAPI": map[string]any{}}), "/tls", nil},
		"a place that the manager fills":          {projected(secret("issued")), "/tmp/k8s-webhook-server/serving-certs", nil},
		"a Secret in an unmounted volume":         {projected(secret("issued")), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../../examples/projectpolicy/bundle")
			f.pod()["volumes"] = list(test.volume)
			if test.path != "" {
				f.container()["volumeMounts"] = list(map[string]any{"name": "v", "mountPath": test.path})
			}
			found := lists.Map(findingsOf(inspect(t, f), "missing-secret"), func(f Finding) string { return f.Path })
			installtest.Same(t, "found", test.want, found)
		})
	}
}

// The pods that serve an API have the manager's certificate, too.
func TestCertificatesOfAPIServers(t *testing.T) {
	for _, serves := range []bool{false, true} {
		f := readFiles(t, "../../../../examples/projectpolicy/bundle")
		f.pod()["volumes"] = list(map[string]any{"name": "v", "secret": map[string]any{"secretName": "issued"}})
		f.container()["volumeMounts"] = list(map[string]any{"name": "v", "mountPath": "/apiserver.local.config/certificates"})
		spec, name := f.at("spec").(map[string]any), f.deployment()["name"]
		delete(spec, "webhookdefinitions")
		if serves {
			spec["apiservicedefinitions"] = map[string]any{"owned": list(apiService("api.example.com", name))}
		}
		installtest.Same(t, "missing-secret is found", !serves, slices.Contains(codes(Run(inspect(t, f))), "missing-secret"))
	}
}
