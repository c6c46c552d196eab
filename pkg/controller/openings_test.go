package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/reporter"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// rolloutAPI is an API server with the WebhookRollouts of the Namespace shop, by name.
func rolloutAPI(t *testing.T, all map[string]*managerv1alpha1.WebhookRollout) *olmclient.Client {
	t.Helper()
	const path = "/apis/olm-webhook-manager.io/v1alpha1/namespaces/shop/webhookrollouts"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, path), "/status"), "/")
		if r.Method != http.MethodGet {
			var sent managerv1alpha1.WebhookRollout
			installtest.Must(t, json.NewDecoder(r.Body).Decode(&sent))
			name = sent.Name
			all[name] = &sent
		}
		if all[name] == nil {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		_ = json.NewEncoder(w).Encode(all[name])
	}))
	t.Cleanup(server.Close)
	return installtest.OrPanic(olmclient.New(&rest.Config{Host: server.URL}))
}

// The record of a deleted version is in the WebhookRollout of the version that remains, which may have been deleted.
func TestReturnOpenings(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	opened := managerv1alpha1.FailOpen{State: managerv1alpha1.FailOpenClosed, Openings: []managerv1alpha1.Opening{
		{From: metav1.NewTime(now), Until: new(metav1.NewTime(now.Add(time.Minute))), ClosedBy: managerv1alpha1.ClosedServed},
	}}
	rolloutOf := func(name string, f *managerv1alpha1.FailOpen) *managerv1alpha1.WebhookRollout {
		r := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "1"}}
		r.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "manager", Webhooks: []managerv1alpha1.WebhookStatus{
			{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.example.com", FailOpen: f},
		}}}
		return r
	}
	for name, test := range map[string]struct {
		ended, remaining *managerv1alpha1.WebhookRollout
		want             int
	}{
		"the version has a WebhookRollout": {rolloutOf("shop.v2", &opened), rolloutOf("shop.v1", nil), 1},
		"the version has none":             {rolloutOf("shop.v2", &opened), nil, 1},
		"nothing was open":                 {rolloutOf("shop.v2", nil), nil, 0},
		"nothing is recorded":              {nil, rolloutOf("shop.v1", nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]*managerv1alpha1.WebhookRollout{"shop.v2": test.ended, "shop.v1": test.remaining}
			set := clients.Set{OLM: rolloutAPI(t, all)}
			events, clock := record.NewFakeRecorder(10), func() time.Time { return now }
			c := &Controller{Set: set, now: clock}
			c.reporter = &reporter.Reporter{Set: set, Metrics: metrics.New(prometheus.NewRegistry()), Status: &write.Status{
				FieldContests: &records.FieldContests{}, Events: events, Writes: &informers.Expectations{}, Now: clock,
			}}
			csv := func(name string) *operatorsv1alpha1.ClusterServiceVersion {
				return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "1"}}
			}
			for range 2 {
				requeue, err := c.returnOpenings(t.Context(), csv("shop.v2"), csv("shop.v1"))
				installtest.Must(t, err)
				installtest.Same(t, "nothing is left to write", true, requeue.Never())
			}
			installtest.Same(t, "shop.v1 has a WebhookRollout", test.remaining != nil || test.want > 0, all["shop.v1"] != nil)
			if all["shop.v1"] != nil {
				kept := all["shop.v1"].Status.KeptOpenings
				installtest.Same(t, "the number of records", test.want, len(kept))
				if test.want > 0 {
					installtest.Same(t, "when it was open", opened.Openings[0].From.Unix(), kept[0].FailOpen.Openings[0].From.Unix())
				}
			}
		})
	}
}

func TestRemainingVersion(t *testing.T) {
	older, oldest := &operatorsv1alpha1.ClusterServiceVersion{}, &operatorsv1alpha1.ClusterServiceVersion{}
	deleted := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}
	for name, test := range map[string]struct {
		successor, want *operatorsv1alpha1.ClusterServiceVersion
	}{
		"one is installed":  {oldest, oldest},
		"none is installed": {nil, older},
	} {
		relatives := lineage.Lineage{Older: []*operatorsv1alpha1.ClusterServiceVersion{deleted, older, oldest}}
		installtest.Same(t, name, true, remainingVersion(test.successor, relatives) == test.want)
	}
	installtest.Same(t, "all are deleted", true, remainingVersion(nil, lineage.Lineage{Older: []*operatorsv1alpha1.ClusterServiceVersion{deleted}}) == nil)
}

// shop reads the versions of an operator in the Namespace shop, with their WebhookRollouts.
func shop(t *testing.T, all []*managerv1alpha1.WebhookRollout, csvs ...*operatorsv1alpha1.ClusterServiceVersion) *Controller {
	t.Helper()
	caches := informerstest.Empty(t)
	caches.CSVs = informerstest.Holding(t, &operatorsv1alpha1.ClusterServiceVersion{}, csvs...)
	caches.Rollouts = informerstest.Holding(t, &managerv1alpha1.WebhookRollout{}, all...)
	work := queue.New(clock.RealClock{})
	return &Controller{caches: caches, queue: work, versions: &versions.Index{Caches: caches, Queue: work}, now: time.Now}
}

func shopVersion(name, replaces string, phase operatorsv1alpha1.ClusterServiceVersionPhase) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	csv.Spec.Replaces, csv.Status.Phase = replaces, phase
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.example.com"}}
	return csv
}

func leaving(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	csv.DeletionTimestamp = new(metav1.Now())
	return csv
}

const (
	pending    = operatorsv1alpha1.CSVPhasePending
	installing = operatorsv1alpha1.CSVPhaseInstalling
	succeeded  = operatorsv1alpha1.CSVPhaseSucceeded
	replacing  = operatorsv1alpha1.CSVPhaseReplacing
)

// shop.v2 is deleted. If shop.v3 has replaced shop.v1 meanwhile, shop.v3 keeps the openings.
func TestKeeperOf(t *testing.T) {
	for name, test := range map[string]struct {
		others []*operatorsv1alpha1.ClusterServiceVersion
		want   string
	}{
		"the previous version":               {[]*operatorsv1alpha1.ClusterServiceVersion{shopVersion("shop.v1", "", replacing)}, "shop.v1"},
		"it is replaced by another one":      {[]*operatorsv1alpha1.ClusterServiceVersion{shopVersion("shop.v1", "", replacing), shopVersion("shop.v3", "shop.v1", installing)}, "shop.v1"},
		"it is being deleted":                {[]*operatorsv1alpha1.ClusterServiceVersion{leaving(shopVersion("shop.v1", "", replacing)), shopVersion("shop.v3", "shop.v1", succeeded)}, "shop.v3"},
		"it is deleted":                      {[]*operatorsv1alpha1.ClusterServiceVersion{shopVersion("shop.v3", "shop.v1", succeeded)}, "shop.v3"},
		"the other one has not started":      {[]*operatorsv1alpha1.ClusterServiceVersion{shopVersion("shop.v3", "shop.v1", pending)}, "shop.v3"},
		"of two others, one has started":     {[]*operatorsv1alpha1.ClusterServiceVersion{shopVersion("shop.v3", "shop.v1", pending), shopVersion("shop.v4", "shop.v1", installing)}, "shop.v4"},
		"all are deleted":                    {[]*operatorsv1alpha1.ClusterServiceVersion{leaving(shopVersion("shop.v3", "shop.v1", succeeded))}, ""},
		"no other version":                   {nil, ""},
		"a version of another operator only": {[]*operatorsv1alpha1.ClusterServiceVersion{shopVersion("mall.v2", "mall.v1", succeeded)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := leaving(shopVersion("shop.v2", "shop.v1", installing))
			c, keeper := shop(t, nil, append(test.others, deleted)...), ""
			if csv := c.keeperOf(deleted, nil, c.versions.LineageOf(deleted)); csv != nil {
				keeper = csv.Name
			}
			installtest.Same(t, "the version", test.want, keeper)
		})
	}
}

// shop.v1 has openings that were returned to it. It waits until the version has them that decides now, and enqueues it.
func TestReplacedVersionAwaitsOpenings(t *testing.T) {
	opening := managerv1alpha1.Opening{From: metav1.NewTime(time.Unix(1_700_000_000, 0)), Until: new(metav1.NewTime(time.Unix(1_700_000_060, 0))), ClosedBy: managerv1alpha1.ClosedServed}
	rolloutOf := func(name string, openings ...managerv1alpha1.Opening) *managerv1alpha1.WebhookRollout {
		r := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		r.Status.KeptOpenings = []managerv1alpha1.KeptOpenings{{
			Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.example.com", FailOpen: managerv1alpha1.FailOpen{State: managerv1alpha1.FailOpenClosed, Openings: openings},
		}}
		return r
	}
	v1, v2, v3 := rolloutOf("shop.v1", opening), rolloutOf("shop.v2", opening), rolloutOf("shop.v3", opening)
	deleted, next := leaving(shopVersion("shop.v2", "shop.v1", installing)), shopVersion("shop.v3", "shop.v1", succeeded)
	for name, test := range map[string]struct {
		rollouts []*managerv1alpha1.WebhookRollout
		csvs     []*operatorsv1alpha1.ClusterServiceVersion
		newer    string
		want     bool
	}{
		"the successor lacks it":                          {[]*managerv1alpha1.WebhookRollout{v1, rolloutOf("shop.v3")}, []*operatorsv1alpha1.ClusterServiceVersion{next}, "shop.v3", true},
		"the successor has it":                            {[]*managerv1alpha1.WebhookRollout{v1, v3}, []*operatorsv1alpha1.ClusterServiceVersion{next}, "shop.v3", false},
		"only a version that is being deleted has it":     {[]*managerv1alpha1.WebhookRollout{v1, v2, rolloutOf("shop.v3")}, []*operatorsv1alpha1.ClusterServiceVersion{deleted, next}, "shop.v2", true},
		"only a version that is being deleted lacks it":   {[]*managerv1alpha1.WebhookRollout{v1, rolloutOf("shop.v2"), v3}, []*operatorsv1alpha1.ClusterServiceVersion{deleted, next}, "shop.v2", false},
		"the only successor is being deleted, and has it": {[]*managerv1alpha1.WebhookRollout{v1, v2}, []*operatorsv1alpha1.ClusterServiceVersion{deleted}, "shop.v2", false},
		"the successor does not exist":                    {[]*managerv1alpha1.WebhookRollout{v1}, nil, "shop.v3", false},
	} {
		t.Run(name, func(t *testing.T) {
			first := shopVersion("shop.v1", "", replacing)
			c := shop(t, test.rollouts, append(test.csvs, first)...)
			installtest.Same(t, "awaits openings", test.want, c.awaitsOpenings(c.versions.LineageOf(first), test.newer, v1))
			want := 0
			if test.want {
				want = 1
			}
			installtest.Same(t, "enqueued versions", want, c.queue.Len())
		})
	}
}
