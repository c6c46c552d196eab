package bundle

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestPodsAreJudgedAsTheAPIServerDoes(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, testNamespace)
	const (
		own   = "/tmp/k8s-webhook-server/serving-certs"
		other = "{name: other, image: example.com/other}"
	)
	for name, c := range map[string]struct {
		volumes, mounts, initContainers string
		refused                         bool
	}{
		"nothing":                                 {"", "", "", false},
		"a volume that is mounted twice":          {"{name: a, emptyDir: {}}", "{name: a, mountPath: /a}, {name: a, mountPath: /b}", "", false},
		"two volumes of one name":                 {"{name: a, emptyDir: {}}, {name: a, emptyDir: {}}", "", "", true},
		"a volume that there is not":              {"{name: a, emptyDir: {}}", "{name: b, mountPath: /b}", "", true},
		"two volumes in one place":                {"{name: a, emptyDir: {}}, {name: b, emptyDir: {}}", "{name: a, mountPath: /a}, {name: b, mountPath: /a}", "", true},
		"two places that are one to a kernel":     {"{name: a, emptyDir: {}}", "{name: a, mountPath: /a}, {name: a, mountPath: /a/}", "", false},
		"another init container":                  {"", "", other, false},
		"two init containers of one name":         {"", "", other + ", " + other, true},
		"an init container named as another":      {"", "", "{name: webhook, image: example.com/other}", true},
		"a volume that an init container lacks":   {"", "", "{name: other, image: example.com/other, volumeMounts: [{name: a, mountPath: /a}]}", true},
		"the certificate of another tool, twice":  {"{name: a, secret: {secretName: a}}, {name: a, secret: {secretName: a}}", "{name: a, mountPath: " + own + "}", "", false},
		"a certificate that no client brings":     {"", "{name: cert, mountPath: " + own + "}", "", false},
		"the manager's own volume":                {"", "{name: webhook-cert, mountPath: /cert}", "", false},
		"the manager's own volume, brought":       {"{name: webhook-cert, secret: {secretName: a}}", "{name: webhook-cert, mountPath: /cert}", "", false},
		"the manager's own volume, brought twice": {"{name: webhook-cert, secret: {secretName: a}}, {name: webhook-cert, secret: {secretName: a}}", "", "", true},
		"the manager's place, twice":              {"{name: a, emptyDir: {}}, {name: b, emptyDir: {}}", "{name: a, mountPath: " + own + "}, {name: b, mountPath: " + own + "}", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := edited(t, proof{example: admission, edits: []string{
				"              containers:\n", "              volumes: [" + c.volumes + "]\n              initContainers: [" + c.initContainers + "]\n              containers:\n",
				"                imagePullPolicy: IfNotPresent\n", "                volumeMounts: [" + c.mounts + "]\n",
			}})
			err := e.createDeployment(t, b)
			if (err != nil) != c.refused {
				t.Errorf("the API server reports %v", err)
			}
			if err != nil {
				mustRefuse(t, err)
			}
			installtest.Same(t, "found", err != nil, finds(b, "pod-invalid"))
		})
	}
}
