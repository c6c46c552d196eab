package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A line that is being written belongs whole to a later reader, however long it is.
func TestAuditLogEndsBetweenLines(t *testing.T) {
	log := AuditLog(filepath.Join(t.TempDir(), "audit.log"))
	long := strings.Repeat("x", 10_000)
	for written, want := range map[string]int64{
		"":                                 0,
		`{"verb":"` + long:                 0,
		"{}\n":                             3,
		"{}\n{}\n" + `{"ve`:                6,
		"{}\n" + `{"verb":"` + long + "\"": 3,
	} {
		must(t, os.WriteFile(string(log), []byte(written), 0o600))
		if end, err := log.End(); end != want || err != nil {
			t.Errorf("of %d bytes: %d, %v; want %d", len(written), end, err, want)
		}
	}
}

func TestAuditLogCountsWrites(t *testing.T) {
	if !cluster.Audit.Available() {
		t.Skip("the audit log of the cluster that KUBECONFIG names cannot be read")
	}
	config := cluster.Config()
	config.UserAgent = "auditor-under-test"
	client := newClient(t, config)
	place, err := cluster.Audit.End()
	must(t, err)
	name := createConfigMap(t, client)
	Get(t, client.CoreV1().ConfigMaps("default"), name)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "bookkeeping-", Namespace: "default"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Name: name, Namespace: "default"},
	}
	Create(t, client.CoreV1().Events("default"), event)

	var got []string
	eventually(t, "the requests are in the audit log", func() bool {
		events, err := cluster.Audit.Since(place)
		must(t, err)
		got = nil
		seen := 0
		for _, e := range events {
			if e.UserAgent == config.UserAgent {
				seen++
			}
		}
		for _, w := range Writes(events, config.UserAgent) {
			got = append(got, w.Verb+" "+w.ObjectRef.Resource)
		}
		return seen == 3
	})
	if diff := cmp.Diff([]string{"create configmaps"}, got); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
}
