package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"
)

// everything selects all objects of the chart.
const everything = "{namespaces: [shop], liftRoles: true, monitoring: {enabled: true}}"

// TestLint does what "helm lint --strict" does.
func TestLint(t *testing.T) {
	for _, text := range []string{"{}", everything} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		for _, message := range lint.RunAll(folder, values, managerNamespace).Messages {
			if message.Severity > support.InfoSev {
				t.Error(message)
			}
		}
	}
}

// Helm stores a release, with its chart, in a Secret. The data of a Secret has at most 1 MiB. This encodes a release as
// Helm does.
func TestReleaseFitsIntoASecret(t *testing.T) {
	const most = 1 << 20
	files, err := render(t, everything)
	if err != nil {
		t.Fatal(err)
	}
	var manifest strings.Builder
	for _, content := range files {
		manifest.WriteString(content)
	}
	content, err := json.Marshal(releasev1.Release{Chart: load(t), Manifest: manifest.String()})
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	size := base64.StdEncoding.EncodedLen(compressed.Len())
	t.Logf("the release has %d bytes", size)
	if size > most*3/4 {
		t.Errorf("the release has %d bytes, which is more than three quarters of what a Secret can hold: remove descriptions from the CRDs of the chart", size)
	}
}

// TestNotes checks that the notes name the next commands, for the namespace of the release.
func TestNotes(t *testing.T) {
	files, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	notes := files["olm-webhook-manager/templates/NOTES.txt"]
	for _, command := range []string{"kubectl -n " + managerNamespace + " rollout status deployment/olm-webhook-manager", "kubectl webhooks doctor"} {
		if !strings.Contains(notes, command) {
			t.Errorf("the notes do not name %q:\n%s", command, notes)
		}
	}
}

// TestNamespaceOfRelease checks that no object and no subject has the namespace that manifests name.
func TestNamespaceOfRelease(t *testing.T) {
	files, err := renderIn(t, "elsewhere", everything)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		for line := range strings.Lines(content) {
			if strings.Contains(strings.ReplaceAll(line, `"`, ""), "namespace: "+managerNamespace) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
