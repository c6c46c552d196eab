package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A user without the permissions for pods, Deployments, events and metrics gets the page, which names what it does not
// show.
func TestPageOfALimitedUser(t *testing.T) {
	e := newParallelEnv(t)
	ca := e.authority("ca")
	webhookServer(e, "sound", ca, leafOf(e, ca, "sound", time.Now().AddDate(0, 1, 0)))
	webhookServer(e, "away", ca, nil)
	c, err := clusterpkg.New(asReader(e, "apps", "pods"))
	e.must(err)
	reader := clusterpkg.PageReader{Cluster: c}
	var facts page.Facts
	e.eventually("the reader may read", func() (bool, any) { facts, err = reader.Read(e.ctx); return !apierrors.IsForbidden(err), err })
	e.must(err)
	for what, unread := range map[string]string{"events": facts.EventsUnread, "deployments.apps": facts.DeploymentsUnread} {
		installtest.Contains(t, unread, what+" is forbidden")
	}
	_, err = reader.Latencies(e.ctx)
	installtest.Contains(t, fmt.Sprint(err), "/metrics")
	facts.Answers, err = reader.Dial(e.ctx, lists.Filter(facts.Webhooks, func(w doctor.Webhook) bool { return w.Service.Namespace == e.namespace }))
	e.must(err)

	p := page.New(facts, page.History{}, time.Now())
	findings := func(name string) []string {
		w := lists.First(p.Webhooks, func(w page.Webhook) bool { return strings.HasPrefix(w.Name, name+"."+e.namespace) })
		return lists.Map(w.Findings, func(f doctor.Finding) string { return string(f.Level) + " " + f.Code })
	}
	installtest.Same(t, "findings of a webhook whose pods may not be read", []string{"Unknown NotAsked", "Unknown WorkloadsUnread"}, findings("sound"))
	installtest.Same(t, "findings of a webhook without endpoints", []string{"Error NoReadyEndpoints", "Unknown WorkloadsUnread"}, findings("away"))
	installtest.Contains(t, installtest.OrPanic(views.Render(p, views.Findings, page.Webhook{})), "allow the user of doctor to list pods, replicasets, deployments, statefulsets, daemonsets in namespace "+e.namespace)
}
