package caches

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

// Reads returns a call that reads Caches in some versions, and compares each field of a part of them with what it is now.
// They are stored in one of two versions: every read in the other needs the webhook.
func (c *Client) Reads(t *testing.T, part func(*unstructured.Unstructured) map[string]any, versions []schema.GroupVersion, names ...string) func(context.Context) calls.Call {
	t.Helper()
	want := map[schema.GroupVersion]map[string]map[string]any{}
	for _, version := range versions {
		want[version] = map[string]map[string]any{}
		for _, name := range names {
			want[version][name] = part(c.Get(t, version, name))
		}
	}
	return func(ctx context.Context) calls.Call {
		made := calls.Call{Sent: time.Now(), Outcome: calls.Converted}
		for version, all := range want {
			for name, content := range all {
				read, err := c.In(version).Get(ctx, name, metav1.GetOptions{})
				if err == nil {
					if diff := cmp.Diff(content, part(read)); diff != "" {
						err = fmt.Errorf("%s %s is wrong (-want +got):\n%s", version, name, diff)
					}
				}
				if err != nil {
					made.Outcome, made.Err = calls.Failed, err
				}
			}
		}
		made.Answered = time.Now()
		return made
	}
}
