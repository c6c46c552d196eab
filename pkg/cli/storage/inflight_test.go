package storage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func writtenAt(at time.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Time: new(metav1.NewTime(at)), FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestRequestsEnd(t *testing.T) {
	agreed := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	spec := func(ago time.Duration) metav1.ManagedFieldsEntry {
		return writtenAt(agreed.Add(-ago), `{"f:metadata":{},"f:spec":{"f:versions":{}}}`)
	}
	annotation := writtenAt(agreed, `{"f:metadata":{"f:annotations":{}}}`)
	status := writtenAt(agreed, `{"f:spec":{}}`)
	status.Subresource = "status"
	timeless, unreadable := spec(time.Hour), spec(time.Second)
	timeless.Time, unreadable.FieldsV1 = nil, nil
	const never = -time.Hour + maxSkew + time.Minute
	for name, test := range map[string]struct {
		changed bool
		entries []metav1.ManagedFieldsEntry
		want    time.Duration // after agreed
	}{
		"unknown":               {false, nil, time.Minute},
		"unchanged for an hour": {false, []metav1.ManagedFieldsEntry{spec(time.Hour)}, never},
		"unchanged for an hour, with other fields": {false, []metav1.ManagedFieldsEntry{annotation, spec(time.Hour), status}, never},
		"unchanged for an hour, one has no time":   {false, []metav1.ManagedFieldsEntry{spec(time.Hour), timeless}, time.Minute},
		"the newest counts":                        {false, []metav1.ManagedFieldsEntry{spec(time.Second), spec(time.Hour)}, time.Minute},
		"fields are unknown":                       {false, []metav1.ManagedFieldsEntry{spec(time.Hour), unreadable}, time.Minute},
		"this clock may be ahead":                  {false, []metav1.ManagedFieldsEntry{spec(maxSkew)}, time.Minute},
		"this clock is behind":                     {false, []metav1.ManagedFieldsEntry{spec(-time.Hour)}, time.Minute},
		"only annotations":                         {false, []metav1.ManagedFieldsEntry{annotation}, time.Minute},
		"changed during the run":                   {true, []metav1.ManagedFieldsEntry{spec(time.Hour)}, time.Minute},
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.entries}}
		installtest.Same(t, name+": time after agreement", test.want, requestsEnd(crd, test.changed, agreed, time.Minute).Sub(agreed))
	}
}

// A create that began before the API server learned of the change is stored in v1 after the end of a run that does not wait.
func TestWriteInFlight(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*cluster)
		patient time.Duration // when the command is interrupted
		waits   bool
		err     error
	}{
		"in flight":             {func(c *cluster) { c.holds = 59 * time.Second }, time.Hour, true, nil},
		"interrupted":           {func(c *cluster) { c.holds = 59 * time.Second }, 10 * time.Second, true, context.DeadlineExceeded},
		"unchanged for an hour": {func(c *cluster) { c.storage("v2"); c.late = 0; pass(time.Hour) }, time.Hour, false, nil},
		"unchanged, and an API server is late": {func(c *cluster) {
			c.storage("v2")
			c.holds = 59 * time.Second
			pass(time.Hour)
		}, time.Hour, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster("v1", "a")
				test.prepare(c)
				ctx, cancel := context.WithTimeout(t.Context(), test.patient)
				defer cancel()
				started, waits := time.Now(), false
				_, err := Migrate(ctx, c, "v2", time.Minute, func(p Progress) {
					waits = waits || strings.HasPrefix(p.Line, "waiting until ")
				})
				if took := time.Since(started); !errors.Is(err, test.err) || waits != test.waits || (took >= time.Minute) != (waits && err == nil) {
					t.Errorf("after %s the error is %v, want %v; it has reported that it waits: %v", took, err, test.err, waits)
				}
				if err != nil && len(c.wrote) > 0 {
					t.Errorf("interrupted, it wrote %v", c.wrote)
				}
				pass(time.Hour)
				c.land()
				c.proves(t, err)
			})
		})
	}
}

// pass lets time pass on the clock of synctest.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // nothing else advances that clock
}
