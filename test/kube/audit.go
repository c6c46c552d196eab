package kube

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// AuditLog is the path of a log with a line for each answered request. The line may come a moment after the answer.
type AuditLog string

// Available reports whether there is such a log of this cluster.
func (l AuditLog) Available() bool {
	return l != ""
}

// End returns where the last line that is whole ends now, from where Since may read later.
func (l AuditLog) End() (int64, error) {
	file, err := os.Open(string(l))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	for chunk := make([]byte, 4096); end > 0; {
		part := chunk[:min(end, int64(len(chunk)))]
		end -= int64(len(part))
		if _, err := file.ReadAt(part, end); err != nil {
			return 0, err
		}
		if last := bytes.LastIndexByte(part, '\n'); last >= 0 {
			return end + int64(last) + 1, nil
		}
	}
	return 0, nil
}

// Since returns the events that have been written behind that place.
func (l AuditLog) Since(place int64) ([]auditv1.Event, error) {
	file, err := os.Open(string(l))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(place, io.SeekStart); err != nil {
		return nil, err
	}
	var events []auditv1.Event
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil // what has no end yet is still being written
		}
		if err != nil {
			return nil, err
		}
		var event auditv1.Event
		if err := json.Unmarshal(bytes.TrimSpace(line), &event); err != nil {
			return nil, fmt.Errorf("%s: %w in %q", string(l), err, line)
		}
		events = append(events, event)
	}
}

// ClusterAuditLog is next to the kubeconfig that KUBECONFIG names. Only a cluster of test/cluster has one.
func ClusterAuditLog() AuditLog {
	path := filepath.Join(filepath.Dir(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)), "log", "audit.log")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return AuditLog(path)
}

// Requests returns the events from a place in the log to this call: a request of its own shows the progress of the log.
func (l AuditLog) Requests(t testing.TB, config *rest.Config, start int64) (events []auditv1.Event) {
	t.Helper()
	marker := rest.CopyConfig(config)
	marker.UserAgent = fmt.Sprintf("%s of %s", t.Name(), time.Now().Format(time.RFC3339Nano))
	client, err := discovery.NewDiscoveryClientForConfig(marker)
	if err == nil {
		_, err = client.ServerVersion()
	}
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the audit log shows this request", func() (bool, any) {
		if events, err = l.Since(start); err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			if event.UserAgent == marker.UserAgent {
				return true, nil
			}
		}
		return false, len(events)
	})
	return events
}

// Writes returns the writes, and attempts, of clients whose user agent contains the text. It omits Leases, which are
// written as long as a controller runs, Events, which report what was done, and reviews, which are not stored.
func Writes(events []auditv1.Event, userAgent string) []auditv1.Event {
	var found []auditv1.Event
	for _, event := range events {
		if event.ObjectRef == nil || !strings.Contains(event.UserAgent, userAgent) {
			continue
		}
		if isWrite(event.Verb) && !isBookkeeping(event.ObjectRef.APIGroup, event.ObjectRef.Resource) {
			found = append(found, event)
		}
	}
	return found
}

func isWrite(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

func isBookkeeping(group, resource string) bool {
	switch group {
	case "authentication.k8s.io":
		return resource == "selfsubjectreviews" || resource == "tokenreviews"
	case "authorization.k8s.io":
		return resource == "subjectaccessreviews"
	case "coordination.k8s.io":
		return resource == "leases"
	case "", "events.k8s.io":
		return resource == "events"
	}
	return false
}
